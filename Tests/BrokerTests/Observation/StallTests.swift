import Foundation
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// A queue that stands still is told once, after the threshold.
@Suite("Stalls", .watched)
struct StallTests {
    private func status(_ queue: QueueName, _ because: WaitReason, head: Int64 = 1) -> QueueStatus {
        QueueStatus(
            queue: queue,
            depth: 1,
            because: [because],
            head: ActionID(rawValue: head),
            headKind: "note",
            attempt: 0,
            oldestEnqueuedAt: nil,
            lastError: nil,
            queueID: nil
        )
    }

    private func moved(_ queue: QueueName) -> QueueEvent {
        QueueEvent(.moved, at: Date(timeIntervalSince1970: 0), queue: queue)
    }

    private func names(_ statuses: [QueueStatus]) -> [String] { statuses.map(\.queue.rawValue) }

    @Test("A stall is told once, and again after the queue has moved")
    func once() {
        let watch = StallWatch()
        func look(_ statuses: [QueueStatus], at seconds: Int) -> [String] {
            names(watch.look(at: statuses, isLast: true, now: .seconds(seconds), threshold: .seconds(10)))
        }
        let held = status("a", .held(by: "ops", reason: "", until: nil))
        #expect(look([held], at: 0).isEmpty)
        #expect(look([held], at: 9).isEmpty)
        #expect(look([held], at: 10) == ["a"])
        // For another reason it stands just as still.
        #expect(look([status("a", .gate("g"))], at: 30).isEmpty)
        watch.receive([moved("a")])
        #expect(look([held], at: 31).isEmpty)
        #expect(look([held], at: 41) == ["a"])
        // Another head: it has moved between two looks.
        #expect(look([status("a", .gate("g"), head: 2)], at: 60).isEmpty)
        #expect(look([status("a", .gate("g"), head: 2)], at: 70) == ["a"])
        watch.forget()
        #expect(watch.count == 0)
    }

    @Test("G11: what is about to start and never does has stalled")
    func neverStarted() {
        let watch = StallWatch()
        let found = [0, 9, 10].map { second in
            watch.look(
                at: [status("a", .ready)],
                isLast: true,
                now: .seconds(second),
                threshold: .seconds(10)
            ).count
        }
        #expect(found == [0, 0, 1])
    }

    @Test("What runs, is scheduled, or is another's does not stand still")
    func moving() {
        let watch = StallWatch()
        let date = Date(timeIntervalSince1970: 0)
        let all = [
            status("a", .running(since: date, attempt: 1)), status("b", .scheduled(for: date)),
            status("d", .stopped), status("e", .owned(by: "process 1")),
        ]
        for second in [0, 100] {
            let found = watch.look(at: all, isLast: true, now: .seconds(second), threshold: .seconds(10))
            #expect(found.isEmpty)
        }
        #expect(watch.count == 0)
    }

    @Test("G12: marks are bounded; what finds no room is told when there is some")
    func bounded() {
        let watch = StallWatch()
        let limit = StallWatch.limit
        let all = (0...limit).map { status("q/\($0)", .gate("g")) }
        func look(_ statuses: some Sequence<QueueStatus>, at seconds: Int) -> Int {
            watch.look(at: Array(statuses), isLast: false, now: .seconds(seconds), threshold: .seconds(10))
                .count
        }
        #expect(look(all, at: 0) == 0)
        #expect(watch.count == limit)
        #expect(watch.next?.rawValue == "q/\(limit)")
        #expect(look(all, at: 10) == limit)
        watch.receive([moved("q/0")])
        #expect(look(all.suffix(1), at: 11) == 0)
        #expect(look(all.suffix(1), at: 21) == 1)
    }

    @Test("G15: a queue that stands still for longer than the threshold is told once, with the reason")
    func stalled() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { $0.stallThreshold = .seconds(100) }
        try broker.route("parked", Note.self) { _, _ in .fail("no such room") }
        try broker.route("slow", Note.self) { _, _ in .retry(after: .seconds(1_000_000)) }
        let events = broker.events()
        try await broker.enqueue([Note("a", in: "parked"), Note("b", in: "slow"), Note("c", in: "unrouted")])
        try await broker.enqueue(Note("d", in: "later"), notBefore: .distantFuture)
        let (clock, start) = (site.clock, site.clock.uptime)
        let told = EventLog<String>()
        let token = broker.observe(on: .global()) { element in
            if element.line.hasPrefix("stalled") { told.append(element.line) }
        }
        try await whileRunning(broker) {
            try await until { broker.fileEngine.life.withLock { $0.hasLookedAround } }
            try await until {
                clock.advance(by: .seconds(20))
                await Task.yield()
                return told.elements.count >= 3
            }
            #expect(clock.uptime - start >= .seconds(100))
            for _ in 0..<20 {
                clock.advance(by: .seconds(20))
                await Task.yield()
            }
        }
        await broker.close()
        let lines = await events.lines().filter { $0.hasPrefix("stalled") }
        #expect(
            Set(lines) == [
                "stalled parked 1 note #1 'no such room'",
                "stalled slow 2 note #1 'the handler asked for a retry'",
                "stalled unrouted 3 note #0",
            ]
        )
        #expect(lines.count == 3)
        withExtendedLifetime(token) {}
    }

    @Test("While nobody observes nothing is looked for")
    func unobserved() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { $0.stallThreshold = .seconds(100) }
        try await broker.enqueue(Note("a"))
        try await whileRunning(broker) {
            await broker.waitUntilIdle()
            #expect(broker.fileEngine.scheduler.time(of: .findStalled) == nil)
            let events = broker.events()
            #expect(broker.fileEngine.scheduler.time(of: .findStalled) == .seconds(20))
            withExtendedLifetime(events) {}
        }
        await broker.close()
        let refused = await refusal { try await site.broker { $0.stallThreshold = .zero } }
        #expect(refused == .invalidOptions)
    }
}
