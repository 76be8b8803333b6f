import Dispatch
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Running and stopping", .watched) struct RunTests {
    @Test(
        "A broker that runs refuses to run twice; after a stop it runs again",
        arguments: QueueStorage.allCases
    )
    func twice(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        for round in 1...3 {
            try await running(broker) {
                try await broker.enqueue(Note("\(round)"))
                _ = try await log.wait(forCount: round)
                let error = await #expect(throws: SluiceError.self) { try await broker.run() }
                #expect(error?.code == .alreadyRunning)
            }
        }
        #expect(log.elements == ["1", "2", "3"])
        await broker.close()
        let error = await #expect(throws: SluiceError.self) { try await broker.run() }
        #expect(error?.code == .closed)
    }

    @Test("A stop without a run returns at once, and closing twice does no harm")
    func stopIdle() async throws {
        let site = try Site()
        let broker = try await site.broker()
        await broker.stop()
        await broker.close()
        await broker.close()
        await broker.stop()
        let error = await #expect(throws: SluiceError.self) { try await broker.actionCount() }
        #expect(error?.code == .closed)
    }

    @Test("G7: handlers that finish within the grace period succeed; nothing new starts meanwhile")
    func graceful() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.durability = .everything }
        let log = EventLog<String>()
        let go = Signal()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            try await go.received()
            return Task.isCancelled ? .fail("cancelled") : .success
        }
        try await broker.enqueue([
            Note("a", in: "1"), Note("b", in: "2"), Note("c", in: "1"), Note("d", in: "2"),
        ])
        async let run: Void = broker.run()
        _ = try await log.wait(forCount: 2)
        async let stopped: Void = broker.stop(grace: .seconds(5))
        try await site.clock.waitForSleeper(untilUptime: .seconds(5))
        try await broker.enqueue(Note("e", in: "3"))
        go.send()
        await stopped
        try await run
        #expect(Set(log.elements) == ["a", "b"])
        #expect(broker.statistics.succeeded == 2)
        try await #expect(broker.actionCount() == 3)
        await broker.close()
    }

    @Test(
        "G7: handlers that outlast the grace period are cancelled and released; no attempt is spent",
        arguments: QueueStorage.allCases
    )
    func graceOver(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker { $0.file.durability = .everything }
        let log = EventLog<String>()
        try broker.route("*", Note.self, retrying(.fixed(.zero))) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            if log.elements.count == 1 { return .retry }
            if log.elements.count == 2 { try await untilCancelled() }
            return .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        async let run: Void = broker.run()
        _ = try await log.wait(forCount: 2)
        async let stopped: Void = broker.stop(grace: .seconds(5))
        try await site.clock.waitForSleeper(untilUptime: .seconds(5))
        #expect(broker.statistics.released == 0)
        site.clock.advance(by: .seconds(5))
        await stopped
        try await run
        #expect(broker.statistics.released == 1)
        #expect(log.elements == ["a 1", "a 2"])
        // The retry wait is not begun anew: it runs at once, as the same attempt.
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["a 1", "a 2", "a 2", "b 1"])
        await broker.close()
    }

    @Test("A stop waits for a handler that does not heed its cancellation, and takes its success")
    func stubborn() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let (started, cancelled, go) = (Signal(), Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try? await untilCancelled()
            cancelled.send()
            await go.receivedInAnyCase()
            return .success
        }
        try await broker.enqueue(Note("a"))
        let hasStopped = EventLog<String>()
        defer { go.send() }
        async let run: Void = broker.run()
        try await started.received()
        async let stopped: Void = {
            await broker.stop(grace: .zero)
            hasStopped.append("stopped")
        }()
        try await cancelled.received()
        #expect(hasStopped.elements.isEmpty)
        go.send()
        await stopped
        try await run
        #expect(broker.statistics.succeeded == 1)
        try await #expect(broker.actionCount() == 0)
    }

    @Test("G7: what ends while a stop cancels the handlers makes room for nothing")
    func cancelling() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let (log, go, settled) = (EventLog<String>(), Signal(), DispatchSemaphore(value: 0))
        let token = broker.observe(on: DispatchQueue(label: "events"), buffering: .bounded(100)) {
            if case .event(let event) = $0, event.kind == .succeeded { settled.signal() }
        }
        try broker.route("1", Note.self) { note, _ in
            log.append(note.text)
            try await withTaskCancellationHandler {
                try await untilCancelled()
            } onCancel: {
                // The stop itself calls it, and goes on when the other queue's outcome is written.
                go.send()
                settled.wait()
            }
            return .success
        }
        try broker.route("2", Note.self) { note, _ in
            log.append(note.text)
            await go.receivedInAnyCase()
            return .success
        }
        try await broker.enqueue([Note("a", in: "1"), Note("b", in: "2"), Note("c", in: "2")])
        async let run: Void = broker.run()
        _ = try await log.wait(forCount: 2)
        DispatchQueue.global().async { broker.beginStop(grace: .zero) }
        try await run
        #expect(log.elements.sorted() == ["a", "b"])
        #expect(broker.statistics.succeeded == 1 && broker.statistics.released == 1)
        token.cancel()
        await broker.close()
    }

    @Test("A stop with a shorter grace period cuts a longer one short")
    func secondStop() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let started = Signal()
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await untilCancelled()
            return .success
        }
        try await broker.enqueue(Note("a"))
        async let run: Void = broker.run()
        try await started.received()
        async let patient: Void = broker.stop(grace: .seconds(30))
        try await site.clock.waitForSleeper(untilUptime: .seconds(30))
        await broker.stop(grace: .zero)
        await patient
        try await run
        #expect(broker.statistics.released == 1)
    }

    @Test("Cancelling the task of the run cancels the handlers at once, and the run returns normally")
    func taskCancellation() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<Int>()
        try broker.route("*", Note.self) { _, attempt in
            log.append(attempt.number)
            if log.elements.count == 1 { try await untilCancelled() }
            return .success
        }
        try await broker.enqueue(Note("a"))
        let run = Task { try await broker.run() }
        _ = try await log.wait(forCount: 1)
        run.cancel()
        try await run.value
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == [1, 1])
        await broker.close()
    }

    @Test("A run whose task is cancelled already starts nothing, and the broker can run again")
    func cancelledBefore() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.enqueue(Note("a"))
        let run = Task {
            try? await untilCancelled()
            try await broker.run()
        }
        run.cancel()
        try await run.value
        #expect(log.elements.isEmpty)
        try await running(broker) { _ = try await log.wait(forCount: 1) }
        #expect(log.elements == ["a"])
    }

    @Test("Closing while it runs stops it first, with its grace period")
    func closeWhileRunning() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.durability = .everything }
        let (started, go) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await go.received()
            return .success
        }
        try await broker.enqueue(Note("a"))
        async let run: Void = broker.run()
        try await started.received()
        async let closed: Void = broker.close(grace: .seconds(9))
        try await site.clock.waitForSleeper(untilUptime: .seconds(9))
        go.send()
        await closed
        try await run
        #expect(broker.statistics.succeeded == 1)
        let next = try await site.broker()
        try await #expect(next.actionCount() == 0)
        await next.close()
    }

    @Test("Waiting for idleness: a retry is waited for, what is parked or without a route is not")
    func waitUntilIdle() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, attempt in
            if note.text == "bad" { return .fail("x") }
            return attempt.number == 1 ? .retry(after: .seconds(9)) : .success
        }
        try await broker.enqueue([Note("bad", in: "1"), Note("a", in: "2")])
        try await broker.enqueue(Photo(album: "3", width: 1))
        let idle = Task {
            await broker.waitUntilIdle()
            log.append("idle")
        }
        // Before the run begins: it waits for the run to be idle.
        try await until { broker.fileEngine.life.withLock { !$0.restWaiters.isEmpty } }
        try await running(broker) {
            try await until { broker.statistics.retried == 1 }
            #expect(log.elements.isEmpty)
            site.clock.advance(by: .seconds(9))
            await idle.value
        }
        #expect(broker.statistics.succeeded == 1)
    }

    @Test(
        "Waiting for idleness ends with a stop, and with closing a broker that never ran",
        arguments: [true, false]
    )
    func waitUntilIdleEnds(_ runs: Bool) async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try broker.route("*", Note.self) { _, _ in .retry(after: .seconds(9)) }
        try await broker.enqueue(Note("a"))
        async let idle: Void = broker.waitUntilIdle()
        try await until { broker.fileEngine.life.withLock { !$0.restWaiters.isEmpty } }
        if runs {
            try await running(broker) { try await until { broker.statistics.retried == 1 } }
        } else {
            await broker.close()
        }
        await idle
        #expect(broker.statistics.started == (runs ? 1 : 0))
    }

    @Test("Waiting for idleness returns at once behind a run that could not begin")
    func waitUntilIdleAfterRefusal() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.lockTimeout = .milliseconds(1) }
        let other = try Connection(path: #require(site.file).path, mode: .write)
        try other.beginImmediate()
        defer { other.rollback() }
        let error = await #expect(throws: SluiceError.self) { try await broker.run() }
        #expect(error?.code == .databaseLocked)
        await broker.waitUntilIdle()
        #expect(broker.fileEngine.life.withLock { $0.restWaiters.isEmpty })
        await broker.close()
    }

    @Test("Waiting for idleness ends when its task is cancelled, before it has begun to wait or after")
    func waitUntilIdleCancelled() async throws {
        let broker = try await Site(.memory).broker()
        let waiting = Task { await broker.waitUntilIdle() }
        try await until { broker.fileEngine.life.withLock { !$0.restWaiters.isEmpty } }
        waiting.cancel()
        await waiting.value
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            await broker.waitUntilIdle()
        }
        late.cancel()
        await late.value
        #expect(broker.fileEngine.life.withLock { $0.restWaiters.isEmpty })
        await broker.close()
    }

    @Test("A second broker on a file is refused in the process, by whatever path, until the first is closed")
    func secondBroker() async throws {
        let site = try Site()
        let file = try #require(site.file)
        let first = try await site.broker()
        for path in [file.path, file.path.replacing("/queues.sqlite", with: "/./queues.sqlite")] {
            let error = await #expect(throws: SluiceError.self) { try await Broker(file: path) }
            #expect(error?.code == .alreadyOpen)
        }
        await first.close()
        let second = try await site.broker()
        try await #expect(second.actionCount() == 0)
        await second.close()
    }

    @Test("Options outside their limits are refused when the broker is opened")
    func options() async throws {
        let site = try Site(.memory)
        let changes: [@Sendable (inout BrokerOptions) -> Void] = [
            { $0.concurrency = 0 }, { $0.concurrency = 10_001 }, { $0.maximumPayloadByteCount = 0 },
            { $0.file.lockTimeout = .seconds(-1) }, { $0.stopGrace = .seconds(-1) },
            { $0.file.foreignChangeInterval = .zero },
        ]
        for change in changes {
            let error = await #expect(throws: SluiceError.self) { try await site.broker(change) }
            #expect(error?.code == .invalidOptions)
        }
    }

    @Test("Of looks at all queues that overlap the last one counts")
    func overlappingLooks() {
        var look = NeededLook(isNeeded: true)
        let first = look.need()
        let second = look.need()
        look.end(first)
        #expect(look.isNeeded)
        look.end(second)
        #expect(!look.isNeeded)
        look.need()
        look.end(second)
        #expect(look.isNeeded)
    }
}
