import Dispatch
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice
@testable import SluiceBackground

/// A dispatch queue that code can tell it runs on, also by way of queues that target it.
private final class NamedQueue: Sendable {
    let queue: DispatchQueue
    private let key = DispatchSpecificKey<Bool>()

    init(_ label: String, attributes: DispatchQueue.Attributes = []) {
        queue = DispatchQueue(label: label, qos: .utility, attributes: attributes)
        queue.setSpecific(key: key, value: true)
    }

    var isHere: Bool { DispatchQueue.getSpecific(key: key) == true }
}

/// A clock that notes whether those who sleep by it do so on a queue.
private final class WatchedClock: BrokerClock {
    let base = ManualClock()
    let sleepers = EventLog<Bool>()
    private let queue: NamedQueue

    init(_ queue: NamedQueue) { self.queue = queue }

    var wallMicroseconds: Int64 { base.wallMicroseconds }
    var uptime: Duration { base.uptime }

    func sleep(untilUptime deadline: Duration) async throws {
        sleepers.append(queue.isHere)
        try await base.sleep(untilUptime: deadline)
    }
}

@Suite("SDL: execution contexts", .watched) struct ExecutionContextTests {
    @Test("SDL: handlers run on the dispatch queue that the application names, behind each wait too")
    func handlers() async throws {
        let handlers = NamedQueue("test.handlers", attributes: .concurrent)
        let site = try Site(.memory)
        let broker = try await site.broker { $0.handlerExecutor = DispatchExecutor(handlers.queue) }
        let log = EventLog<Bool>()
        try broker.route("*", Note.self) { _, _ in
            log.append(handlers.isHere)
            await Task.yield()
            log.append(handlers.isHere)
            return .success
        }
        try await running(broker) {
            try await broker.enqueue([Note("1"), Note("2", in: "b")])
            _ = try await log.wait(forCount: 4)
        }
        #expect(log.elements == [true, true, true, true])
        #expect(!handlers.isHere)
        await broker.close()
    }

    @Test("SDL: the engine's queues have the quality of service of the queue that is named, or else one each")
    func qualityOfService() {
        let named = DispatchQueue(label: "test.engine", qos: .background)
        func qos(_ context: EngineContext, isUrgent: Bool) -> DispatchQoS? {
            (context.queue("a", isUrgent: isUrgent) as? DispatchQueue)?.qos
        }
        #expect(qos(EngineContext(named), isUrgent: true).map { $0 != .userInitiated } == true)
        #expect(qos(EngineContext(nil), isUrgent: true) == .userInitiated)
        #expect(qos(EngineContext(nil), isUrgent: false) == .utility)
        #expect(DispatchExecutor(named).queue.qos == .background)
    }

    @Test("SDL: no more handlers run at a time than are allowed, all of them on the queue that is named")
    func bounded() async throws {
        let handlers = NamedQueue("test.handlers", attributes: .concurrent)
        let site = try Site(.memory)
        let broker = try await site.broker {
            $0.concurrency = 3
            $0.handlerExecutor = DispatchExecutor(handlers.queue)
        }
        final class Depth: Sendable {
            let value = Mutex(0)

            func change(by step: Int, _ note: (Int) -> Void = { _ in }) {
                value.withLock { value in
                    value += step
                    note(value)
                }
            }
        }
        let (depths, go, depth) = (EventLog<Int>(), Signal(), Depth())
        try broker.route("*", Note.self) { _, _ in
            // Noted where it is counted: they run beside each other.
            depth.change(by: 1) { depths.append(handlers.isHere ? $0 : -1) }
            try await go.received()
            depth.change(by: -1)
            return .success
        }
        try await broker.enqueue((0..<12).map { Note("n", in: QueueName("lane/\($0)")) })
        try await running(broker) {
            _ = try await depths.wait(forCount: 3)
            for _ in 0..<200 { await Task.yield() }
            #expect(depths.elements == [1, 2, 3])
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(depths.elements.count == 12 && depths.elements.allSatisfy { (1...3).contains($0) })
    }

    @Test("SDL: a handler may leave its work to a transport on a queue of its own, which tells its end")
    func transport() async throws {
        let handlers = NamedQueue("test.handlers", attributes: .concurrent)
        let transport = NamedQueue("test.transport")
        let site = try Site(.memory)
        let broker = try await site.broker { $0.handlerExecutor = DispatchExecutor(handlers.queue) }
        let log = EventLog<String>()
        @Sendable func place() -> String {
            [handlers.isHere ? "handlers" : nil, transport.isHere ? "transport" : nil].compactMap { $0 }
                .joined(separator: " and ")
        }
        try broker.route("calls back", completing: Note.self) { note, _, completion in
            log.append("\(note.text) begins on \(place())")
            transport.queue.async {
                log.append("\(note.text) is sent on \(place())")
                completion(.success)
            }
        }
        try broker.route("awaits", Note.self) { note, _ in
            await withCheckedContinuation { continuation in
                transport.queue.async {
                    log.append("\(note.text) is sent on \(place())")
                    continuation.resume()
                }
            }
            log.append("\(note.text) goes on on \(place())")
            return .success
        }
        try await running(broker) {
            try await broker.enqueue(Note("a", in: "calls back"))
            await broker.waitUntilIdle()
            try await broker.enqueue(Note("b", in: "awaits"))
            await broker.waitUntilIdle()
        }
        let expected = [
            "a begins on handlers", "a is sent on transport", "b is sent on transport",
            "b goes on on handlers",
        ]
        #expect(log.elements == expected && broker.statistics.succeeded == 2)
    }

    @Test("SDL: the engine commits, reads, copies, waits and does its chores on the queue that is named")
    func engine() async throws {
        let engine = NamedQueue("test.engine")
        let site = try Site()
        let broker = try await site.broker { $0.engineQueue = engine.queue }
        try await #expect(broker.fileEngine.store.write(sync: .later) { _ in engine.isHere })
        try await #expect(broker.fileEngine.store.read { _ in engine.isHere })
        let log = EventLog<Bool>()
        try await broker.fileEngine.store.backups.perform { _ in log.append(engine.isHere) }
        broker.fileEngine.attempt(.measure, again: nil) { _ in log.append(engine.isHere) }
        _ = try await log.wait(forCount: 2)
        let alarm = Alarm(clock: site.clock, executor: broker.options.engine.executor)
        alarm.set(.seconds(5)) { log.append(engine.isHere) }
        site.clock.advance(by: .seconds(5))
        _ = try await log.wait(forCount: 3)
        try #require(broker.fileEngine.store.lookout).queue.add { log.append(engine.isHere) }
        try await #expect(log.wait(forCount: 4) == [true, true, true, true])
        await broker.close()
    }

    @Test("SDL: what the engine does by itself it does there: waits, a suspension, the coordinator's work")
    func byItself() async throws {
        let engine = NamedQueue("test.engine")
        let (clock, site) = (WatchedClock(engine), try Site())
        let broker = try await site.broker {
            $0.engineQueue = engine.queue
            $0.clock = clock
        }
        let isHere = await broker.fileEngine.suspension.pass { engine.isHere }
        #expect(isHere)
        let (background, system) = try site.background(broker)
        let requests = EventLog<Bool>()
        system.onRequest { requests.append(engine.isHere) }
        let (started, end) = (Signal(), Signal())
        defer { end.send() }
        try broker.route("*", Note.self) { _, _ in
            started.send()
            // It does not heed the stop: the coordinator waits for it as long as it has patience.
            await end.receivedInAnyCase()
            return .success
        }
        try await following(background) {
            background.willEnterForeground()
            try await broker.enqueue(Note("1"))
            try await started.received()
            await background.didEnterBackground()
            system.expireExtension()
            // It begins to wait at some moment, and then waits for two seconds.
            try await until {
                clock.base.advance(by: .seconds(1))
                return !requests.elements.isEmpty
            }
            try await #expect(requests.wait(forCount: 1) == [true])
            end.send()
        }
        #expect(clock.sleepers.elements.count > 1 && !clock.sleepers.elements.contains(false))
        await broker.close()
    }

    @Test("The broker is opened on it, and works with it: many enqueue, run and settle, and none is lost")
    func wholeEngine() async throws {
        let (engine, handlers) = (NamedQueue("test.engine"), NamedQueue("test.handlers"))
        let opened = EventLog<Bool>()
        let site = try Site()
        let broker = try await site.broker {
            $0.engineQueue = engine.queue
            $0.handlerExecutor = DispatchExecutor(handlers.queue)
            $0.file.prepareConnection = { _ in opened.append(engine.isHere) }
        }
        #expect(opened.elements == [true])
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await running(broker) {
            await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<20 {
                    group.addTask {
                        for number in 0..<20 {
                            try await broker.enqueue(Note("\(number)", in: QueueName("lane/\(lane)")))
                        }
                    }
                }
            }
            await broker.waitUntilIdle()
        }
        #expect(log.elements.count == 400)
        await broker.close()
    }

    @Test("Without one, a lone caller commits on its own thread: no change of threads is paid for")
    func callersThread() async throws {
        let caller = NamedQueue("test.caller")
        for (isNamed, expected) in [(false, true), (true, false)] {
            let engine = NamedQueue("test.engine")
            let site = try Site(.memory)
            let broker = try await site.broker { if isNamed { $0.engineQueue = engine.queue } }
            let log = EventLog<Bool>()
            caller.queue.async {
                broker.fileEngine.store.write(sync: .later) { _ in
                    log.append(caller.isHere)
                } completion: { _ in
                }
            }
            try await #expect(log.wait(forCount: 1) == [expected])
            await broker.close()
        }
    }
}
