import Logging
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Waiting until nothing is left to do", .watched)
struct IdleTests {
    @Test(
        "G11: what the application's own connection has committed before the wait is waited for"
    )
    func foreignCommit() async throws {
        let site = try Site(.file)
        // The engine looks for commits once a year of this clock, and does not watch the log.
        let broker = try await site.broker { $0.file.watchesWAL = false }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let application = try Application(site)
        try await running(broker) {
            await broker.waitUntilIdle()
            for number in 0..<20 {
                _ = try application.transaction { try broker.enqueue(Note("\(number)"), in: $0) }
                await broker.waitUntilIdle()
                #expect(log.elements.count == number + 1)
            }
        }
        await broker.close()
    }

    private func append(_ wait: IdleWait, to waits: EventLog<IdleWait>) -> Bool {
        waits.append(wait)
        return true
    }

    @Test("What has no route here is not waited for: a retry, a schedule, a run of another process")
    func notTheirs() async throws {
        let site = try Site(.file)
        let log = EventLog<String>()
        let first = try await site.broker()
        try first.route("b/*", Note.self) { _, _ in .retry(after: .seconds(600)) }
        try await first.enqueue(Note("retries", in: "b/1"))
        try await running(first) { try await until { first.statistics.retried == 1 } }
        await first.close()
        let broker = try await site.broker()
        try broker.routeNotes("a", to: log)
        try await broker.enqueue(Note("later", in: "b/2"), notBefore: (site.clock.now + .seconds(3_600)).date)
        try await broker.enqueue(Note("mine", in: "a"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["mine"])
        try await #expect(broker.actionCount() == 2)
        await broker.close()
    }

    @Test("What another process runs counts where this one has a route for it, and else does not")
    func elsewhere() async throws {
        let site = try Site(.file)
        func open(_ pid: Int64) async throws -> Broker {
            try await site.broker { options in
                options.standFor(process: pid)
                options.file.watchesWAL = false
            }
        }
        let (mine, other) = (try await open(1), try await open(2))
        let (started, goOn) = (Signal(), Signal())
        defer { goOn.send() }
        try other.route("b", Note.self) { _, _ in
            started.send()
            await goOn.receivedInAnyCase()
            return .success
        }
        try mine.routeNotes("a", to: EventLog<String>())
        try await other.enqueue(Note("long", in: "b"))
        try await running(other) {
            try await started.received()
            try await running(mine) {
                await mine.waitUntilIdle()
                // With a route it is this one's too: it may come back.
                try mine.routeNotes("b", to: EventLog<String>())
                let waits = EventLog<IdleWait>()
                let idle = Task {
                    await mine.engine.waitUntilIdle([.all], within: nil) { append($0, to: waits) }
                }
                let wait = try await waits.wait(forCount: 1)[0]
                #expect(wait.queueCount == 1 && wait.delay == nil)
                goOn.send()
                try await until { other.statistics.succeeded == 1 }
                mine.fileEngine.lookForCommits()
                site.clock.advance(by: .seconds(1))
                mine.fileEngine.scheduler.askAgain(all: true)
                await idle.value
            }
        }
        for broker in [mine, other] { await broker.close() }
    }

    @Test("A wait for a time says once what it waits for, and ends behind it")
    func says() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try broker.route("*", Note.self) { _, attempt in
            attempt.number < 3 ? .retry(after: .seconds(9)) : .success
        }
        try await broker.enqueue(Note("a"))
        let waits = EventLog<IdleWait>()
        try await running(broker) {
            let idle = Task {
                await broker.engine.waitUntilIdle([.all], within: nil) { append($0, to: waits) }
            }
            for count in 1...2 {
                try await until { broker.statistics.retried == count }
                _ = try await waits.wait(forCount: 1)
                try await site.clock.waitForSleeper(untilUptime: .seconds(9 * count))
                site.clock.advance(by: .seconds(9))
            }
            await idle.value
        }
        #expect(waits.elements.count == 1 && waits.elements[0].delay == .seconds(9))
        #expect(broker.statistics.succeeded == 1)
        await broker.close()
    }
}

@Suite("A handler that would wait for itself", .watched)
struct WaitForOneselfTests {
    private static func trap(_ wait: @escaping @Sendable (Broker) async -> Void) async throws {
        let broker = try await Site(.memory).broker()
        try broker.route("*", Note.self) { _, attempt in
            await wait(attempt.broker)
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await broker.run()
    }

    @Test("stop, close and both forms of waitUntilIdle trap in a handler of their broker, with a sentence")
    func traps() async throws {
        let stop = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await Self.trap { await $0.stop() }
        }
        let close = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await Self.trap { await $0.close() }
        }
        let idle = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await Self.trap { await $0.waitUntilIdle() }
        }
        let idleQueues = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await Self.trap { do { try await $0.waitUntilIdle("notes") } catch {} }
        }
        let results = [
            (stop, "stop(grace:)"), (close, "close(grace:)"), (idle, "waitUntilIdle()"),
            (idleQueues, "waitUntilIdle(_:)"),
        ]
        for (result, call) in results {
            let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(said.contains("\(call) was called by a handler of its own broker"), "\(said)")
        }
    }

    @Test("A task that a handler begins may stop the broker, and a handler another broker")
    func stopFromTask() async throws {
        let (broker, other) = (try await Site(.memory).broker(), try await Site(.memory).broker())
        try broker.route("*", Note.self) { _, attempt in
            let own = attempt.broker
            await other.close()
            Task { await own.stop() }
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await broker.run()
        #expect(broker.statistics.succeeded == 1)
        await broker.close()
    }

    @Test("settled() throws in a handler for its own action and for one behind it, and waits for others")
    func settled() async throws {
        let broker = try await Site(.memory).broker()
        let codes = EventLog<SluiceError.Code?>()
        try broker.route("notes", Note.self) { note, attempt in
            guard note.text == "a" else { return .success }
            let behind = try await attempt.broker.enqueue(Note("b"))
            for receipt in [EnqueueReceipt(id: attempt.id, broker: attempt.broker), behind] {
                do {
                    _ = try await receipt.settled()
                    codes.append(nil)
                } catch let error as SluiceError {
                    codes.append(error.code)
                }
            }
            let elsewhere = try await attempt.broker.enqueue(Note("c", in: "others"))
            return try await elsewhere.settled() == .succeeded ? .success : .fail("not settled")
        }
        try broker.routeNotes("others", to: EventLog<String>())
        try await broker.enqueue(Note("a"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(codes.elements == [.waitsForItself, .waitsForItself])
        #expect(broker.statistics.succeeded == 3)
        await broker.close()
    }

    @Test("In a queue with several slots a handler may wait for an action that starts beside it")
    func settledBeside() async throws {
        let broker = try await Site(.memory).broker()
        try broker.configure("notes", QueueOptions(discipline: .concurrent(2)))
        try broker.route("notes", Note.self) { note, attempt in
            guard note.text == "a" else { return .success }
            return try await attempt.broker.enqueue(Note("b")).settled() == .succeeded
                ? .success : .fail("no")
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(broker.statistics.succeeded == 2)
        await broker.close()
    }
}
