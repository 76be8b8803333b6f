#if Web
import Foundation
import Logging
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import SluiceWeb

@Suite("What operators look for", .watched(minutes: 1))
struct SearchTests {
    @Test(
        "A part of a name is found in upper or lower case, and letters that only look the same are two",
        arguments: [
            ("ada", "conversation/Ada-Lovelace", true), ("LOVE", "conversation/Ada-Lovelace", true),
            ("aab", "aaab", true), ("ba", "ab", false), ("ÄRGER", "der Ärger", true),
            ("é", "e\u{301}", false),
            ("e", "e\u{301}", true), ("abc", "ab", false),
        ]
    )
    func parts(part: String, name: String, isIn: Bool) {
        #expect(TextPart(part).occurs(in: name) == isIn)
    }

    @Test("Queues are found by a part of the kind, in any case; a pattern compares exactly")
    func kinds() async throws {
        let broker = try await Broker.inMemory()
        try await broker.enqueue(raw: [RawAction(queue: "Mail/Ada", kind: "send-message", payload: "{}")])
        for (query, count) in [
            ("kind=MESSAGE", 1), ("kind=letter", 0), ("name=ada", 1), ("name=Mail/*", 1), ("name=mail/*", 0),
        ] {
            let filter = try QueueFilter(Form(query))
            try await #expect(filter.queues(broker).count == count, "\(query)")
        }
        await broker.close()
    }

    @Test("The latency is that of what waits: an action that runs alone has none")
    func latency() async throws {
        let broker = try await Broker.inMemory()
        let gate = HandlerGate()
        try broker.route("q", Work.self) { _, _ in
            await gate.wait()
            return .success
        }
        let running = Task { try await broker.run() }
        try await broker.enqueue(Work())
        let board = Board()
        let following = Task { await board.follow(broker, SystemClock()) }
        while board.status(of: "q")?.state != .running { await Task.yield() }
        let later = Date.now.addingTimeInterval(3_600)
        await #expect(board.waitingAge(at: later, broker) == nil)
        try await broker.enqueue(Work())
        while board.status(of: "q")?.depth != 2 { await Task.yield() }
        let second = try await broker.actionSummaries("q", limit: 2)[1].enqueuedAt
        let age = try #require(await board.waitingAge(at: later, broker))
        #expect(abs(age / .seconds(1) - later.timeIntervalSince(second)) < 0.001)
        await gate.open()
        following.cancel()
        running.cancel()
        await broker.close()
    }

    private struct Work: Action {
        static let kind = "work"
        var queue: QueueName { "q" }
    }

    /// Lets handlers end when a test says so.
    private actor HandlerGate {
        private var isOpen = false
        private var waiters: [CheckedContinuation<Void, Never>] = []

        func wait() async {
            if !isOpen { await withCheckedContinuation { waiters.append($0) } }
        }

        func open() {
            isOpen = true
            for waiter in waiters { waiter.resume() }
        }
    }

    @Test("Wrong tokens wait a second, a few at the same time, and more are refused at once")
    func logIns() async throws {
        let clock = ManualClock()
        let logIns = LogIns(clock, Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let waiting = (0..<LogIns.limit).map { _ in Task { try await logIns.failed() } }
        while logIns.waitingCount < LogIns.limit { await Task.yield() }
        try await #expect(!logIns.failed())
        let time = Task {
            while !Task.isCancelled {
                clock.advance(by: LogIns.delay)
                await Task.yield()
            }
        }
        for task in waiting { try await #expect(task.value) }
        #expect(logIns.waitingCount == 0)
        try await #expect(logIns.failed())
        time.cancel()
    }
}
#endif
