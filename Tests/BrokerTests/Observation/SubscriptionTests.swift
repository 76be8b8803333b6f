import Dispatch
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Buffers, gaps, tokens and endings.
@Suite("Subscriptions", .watched)
struct SubscriptionTests {
    private func event(_ number: Int) -> QueueEvent {
        var event = QueueEvent(.enqueued, at: ManualClock().now.date, queue: "q")
        event.action = ActionID(rawValue: Int64(number))
        return event
    }

    private func drained(_ buffering: EventBuffering, count: Int) -> [String] {
        var buffer = EventBuffer(buffering)
        for number in 1...count { buffer.add(event(number)) }
        var lines: [String] = []
        while let element = buffer.pop() { lines.append(element.line) }
        return lines
    }

    @Test("A full buffer marks the gap where it is: behind what came first, or before what came last")
    func gaps() {
        #expect(drained(.bounded(2), count: 2) == ["enqueued q 1", "enqueued q 2"])
        #expect(drained(.bounded(2), count: 5) == ["enqueued q 1", "enqueued q 2", "gap 3"])
        #expect(drained(.latest(2), count: 5) == ["gap 3", "enqueued q 4", "enqueued q 5"])
        #expect(drained(.bounded(0), count: 2) == ["enqueued q 1", "gap 1"])
    }

    @Test("Behind a gap it goes on as soon as there is room, and no two gaps stand side by side")
    func goingOn() {
        var buffer = EventBuffer(.bounded(2))
        for number in 1...4 { buffer.add(event(number)) }
        var lines = [buffer.pop()?.line]
        for number in 5...6 { buffer.add(event(number)) }
        while let element = buffer.pop() { lines.append(element.line) }
        #expect(lines == ["enqueued q 1", "enqueued q 2", "gap 2", "enqueued q 5", "gap 1"])
    }

    @Test("A slow subscriber loses events and holds up neither commits nor others")
    func slow() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let (slow, quick) = (broker.events(buffering: .bounded(3)), broker.events())
        for number in 1...10 { try await broker.enqueue(Note("\(number)")) }
        await broker.close()
        await #expect(slow.lines() == (1...3).map { "enqueued notes \($0) note" } + ["gap 7"])
        await #expect(quick.lines().count == 10)
    }

    @Test("A sequence ends when the broker is closed, behind the last event")
    func end() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let events = broker.events()
        let consumer = Task { await events.lines() }
        try await broker.enqueue(Note("a"))
        await broker.close()
        await #expect(consumer.value == ["enqueued notes 1 note"])
        await #expect(broker.events().lines() == [])
    }

    @Test("A sequence ends when its broker goes without being closed")
    func abandoned() async throws {
        var broker: Broker? = try await Site(.memory).broker()
        let events = try #require(broker?.events())
        broker = nil
        await #expect(events.lines() == [])
    }

    @Test("Cancelling the consumer ends its sequence and unsubscribes")
    func cancellation() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let consumer = Task { await broker.events().lines() }
        try await until { broker.fileEngine.store.interest.isAny }
        consumer.cancel()
        await #expect(consumer.value == [])
        #expect(!broker.fileEngine.store.interest.isAny)
        await broker.close()
    }

    @Test("Callbacks come in order, one at a time, on the queue that is named")
    func callbacks() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let queue = DispatchQueue(label: "test.callbacks", attributes: .concurrent)
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let log = EventLog<String>()
        let depth = Atomic(0)
        let token = broker.observe(on: queue) { element in
            let isAlone = depth.add(1, ordering: .relaxed).newValue == 1
            let isThere = DispatchQueue.getSpecific(key: key) == true
            log.append("\(element.line) \(isAlone && isThere)")
            depth.subtract(1, ordering: .relaxed)
        }
        for index in 0..<200 { try await broker.enqueue(Note("\(index)")) }
        await broker.close()
        let lines = try await log.wait(forCount: 200)
        #expect(lines == (1...200).map { "enqueued notes \($0) note true" })
        withExtendedLifetime(token) {}
    }

    @Test("As long as callbacks are called, what comes has no job of its own, and is called behind them")
    func jobs() {
        let jobs = EventLog<@Sendable () -> Void>()
        let lines = EventLog<String>()
        let callbacks = Mutex<ObserverCallbacks<EventBuffer>?>(nil)
        @Sendable func receive(_ number: Int) { callbacks.withLock { $0 }?.receive([event(number)]) }
        callbacks.withLock {
            $0 = ObserverCallbacks(EventBuffer(.bounded()), schedule: { jobs.append($0) }) { element in
                lines.append(element.line)
                if lines.elements.count == 1 { receive(3) }
            }
        }
        receive(1)
        receive(2)
        #expect(jobs.elements.count == 1)
        jobs.elements.first?()
        #expect(jobs.elements.count == 1)
        #expect(lines.elements == (1...3).map { "enqueued q \($0)" })
        receive(4)
        #expect(jobs.elements.count == 2)
    }

    @Test("Callbacks come on the executor that is named")
    func executor() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let (executor, log) = (CountingExecutor(), EventLog<String>())
        let token = broker.observe(on: executor) { log.append($0.line) }
        try await broker.enqueue(Note("a"))
        try await #expect(log.wait(forCount: 1) == ["enqueued notes 1 note"])
        #expect(executor.count.load(ordering: .relaxed) > 0)
        token.cancel()
        await broker.close()
    }

    @Test("After cancel on the serial queue of the callbacks none comes, nor after the token is dropped")
    func tokens() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let (queue, log) = (DispatchQueue(label: "test.tokens"), EventLog<String>())
        let first = Mutex<ObservationToken?>(nil)
        let second = Mutex<ObservationToken?>(nil)
        let reached = Signal()
        first.withLock {
            $0 = broker.observe(on: queue) { element in
                log.append("first \(element.line)")
                // On the queue itself, with more waiting behind it.
                first.withLock { $0 }?.cancel()
            }
        }
        second.withLock { $0 = broker.observe(on: queue) { _ in reached.send() } }
        try await broker.enqueue([Note("a"), Note("b"), Note("c")])
        try await reached.received(3)
        // Those of the first may stand behind those of the second.
        queue.sync {}
        #expect(log.elements == ["first enqueued notes 1 note"])
        #expect(broker.fileEngine.store.interest.isAny)
        second.withLock { $0 = nil }
        #expect(!broker.fileEngine.store.interest.isAny)
        try await broker.enqueue(Note("d"))
        queue.sync {}
        #expect(reached.elements.count == 3)
        await broker.close()
    }
}

/// An executor that counts the jobs it runs.
private final class CountingExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "test.executor")
    let count = Atomic(0)

    func enqueue(_ job: consuming ExecutorJob) {
        count.add(1, ordering: .relaxed)
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
