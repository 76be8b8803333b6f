import Foundation
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Gates that are closed until a time", .watched) struct ClosingTests {
    private static var gated: RouteOptions {
        var options = RouteOptions()
        options.gates = ["server"]
        return options
    }

    @Test(
        "An outcome closes a gate: all queues that need it wait, and start when it opens by itself",
        arguments: QueueStorage.allCases,
        [false, true]
    )
    func outcome(_ place: QueueStorage, _ isRelease: Bool) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self, Self.gated) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            guard log.elements.count == 1 else { return .success }
            return isRelease
                ? .release(after: .seconds(30), closing: "server", because: "busy")
                : .retry(after: .seconds(30), closing: "server")
        }
        try await broker.openGate("server")
        try await broker.enqueue(Note("first", in: "q/0"))
        try await running(broker) {
            try await until { try await broker.gates().first?.opensAt != nil }
            try await broker.enqueue((1...5).map { Note("\($0)", in: "q/\($0)") })
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
            let gate = try #require(await broker.gates().first)
            let end = try #require(gate.opensAt)
            #expect(Timestamp(end) - Timestamp(gate.since) == .seconds(30) && !gate.isOpen)
            let status = try await broker.status(of: "q/1")
            #expect(status.because == [.gate("server", until: end)])
            #expect(status.blockedUntil == end)
            try await #expect(broker.status(of: "q/0").because.last == .retry(until: end))
            site.clock.advance(by: .seconds(29))
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
            #expect(log.elements == ["first 1"])
            try await until {
                site.clock.advance(by: .seconds(1))
                return log.elements.count == 7
            }
            await broker.waitUntilIdle()
        }
        let again = isRelease ? "first 1" : "first 2"
        #expect(log.elements.sorted() == (["first 1", again] + (1...5).map { "\($0) 1" }).sorted())
        await broker.close()
    }

    @Test("G8: a gate opens by itself that was closed while the broker started")
    func closedAtStart() async throws {
        let site = try Site()
        let late = Mutex<Broker?>(nil)
        let broker = try await site.broker {
            // The run has read the ends of all closings by then, and claims nothing yet.
            $0.logger = .acting(at: "the broker runs") {
                let closed = DispatchSemaphore(value: 0)
                let broker = late.withLock { $0 }
                Task {
                    defer { closed.signal() }
                    try await broker?.closeGate("server", for: .seconds(30))
                }
                closed.wait()
            }
        }
        late.withLock { $0 = broker }
        let log = EventLog<String>()
        try broker.route("*", Note.self, Self.gated) { note, _ in
            log.append(note.text)
            return .success
        }
        try await broker.openGate("server")
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
            #expect(log.elements.isEmpty)
            try await until {
                site.clock.advance(by: .seconds(1))
                return log.elements == ["a"]
            }
        }
        late.withLock { $0 = nil }
        await broker.close()
    }

    @Test("waitUntilIdle waits for a gate that opens by itself")
    func idle() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self, Self.gated) { note, _ in
            log.append(note.text)
            return log.elements.count == 1 ? .release(after: .seconds(30), closing: "server") : .success
        }
        try await broker.openGate("server")
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { try await broker.gates().first?.opensAt != nil }
            let counts = EventLog<Int>()
            let waiter = Task {
                await broker.waitUntilIdle()
                counts.append(log.elements.count)
            }
            try await until {
                broker.fileEngine.life.withLock { !$0.restWaiters.isEmpty } || !counts.elements.isEmpty
            }
            try await until {
                site.clock.advance(by: .seconds(1))
                return log.elements.count == 2
            }
            await waiter.value
            #expect(counts.elements == [2])
        }
        await broker.close()
    }

    @Test("The starts after a closing are spread: a server that is still busy gets one request each time")
    func spread() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { $0.concurrency = 1 }
        let log = EventLog<String>()
        try broker.route("*", Note.self, Self.gated) { note, _ in
            log.append(note.text)
            return .release(after: .seconds(100), closing: "server")
        }
        try await broker.openGate("server")
        try await broker.enqueue((0..<20).map { Note("\($0)", in: "q/\($0)") })
        try await running(broker) {
            for round in 1...4 {
                _ = try await log.wait(forCount: round)
                try await until { broker.fileEngine.isAtRest(butFor: 0) }
                #expect(log.elements.count == round)
                // The time over which the starts are spread: each finds the gate closed again.
                site.clock.advance(by: .seconds(10))
                try await until { broker.fileEngine.isAtRest(butFor: 0) }
                #expect(log.elements.count == round)
                site.clock.advance(by: .seconds(90))
            }
        }
        await broker.close()
    }

    @Test("The action itself waits too, if its route does not name the gate; other queues of the route go on")
    func routeWithoutGate() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            guard note.text == "a", attempt.number == 1 else { return .success }
            return .retry(after: .seconds(30), closing: "server")
        }
        try await broker.openGate("server")
        try await broker.enqueue(Note("a", in: "q/a"))
        try await running(broker) {
            try await until { try await broker.gates().first?.opensAt != nil }
            try await broker.closeGate("server", for: .seconds(60))
            try await broker.enqueue(Note("b", in: "q/b"))
            _ = try await log.wait(forCount: 2)
            // Its own delay is over, and the gate's closing is not.
            site.clock.advance(by: .seconds(59))
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
            #expect(log.elements == ["a 1", "b 1"])
            site.clock.advance(by: .seconds(1))
            _ = try await log.wait(forCount: 3)
        }
        #expect(log.elements == ["a 1", "b 1", "a 2"])
        await broker.close()
    }

    @Test("An outcome opens no gate that nobody has opened: the action itself runs again, and no other")
    func unopened() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("a", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return attempt.number == 1 ? .retry(after: .seconds(30), closing: "server") : .success
        }
        try broker.route("b", Note.self, Self.gated) { note, _ in
            log.append(note.text)
            return .success
        }
        try await broker.enqueue([Note("a", in: "a"), Note("b", in: "b")])
        try await running(broker) {
            try await until { try await broker.status(of: "a").state == .retry }
            site.clock.advance(by: .seconds(30))
            try await #expect(log.wait(forCount: 2) == ["a 1", "a 2"])
            await broker.waitUntilIdle()
            try await #expect(broker.status(of: "b").because == [.gate("server", until: nil)])
        }
        #expect(log.elements == ["a 1", "a 2"])
        await broker.close()
    }

    @Test("An action that is deferred runs when the gate has opened, and does not hold up the others")
    func deferred() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try broker.configure("*", QueueOptions(discipline: .concurrent(2)))
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            guard note.text == "a", attempt.number == 1 else { return .success }
            return .retry(after: .seconds(30), closing: "server")
        }
        try await broker.openGate("server")
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { try await broker.gates().first?.opensAt != nil }
            try await broker.enqueue(Note("b"))
            _ = try await log.wait(forCount: 2)
            try await broker.closeGate("server", for: .seconds(60))
            site.clock.advance(by: .seconds(59))
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
            #expect(log.elements == ["a 1", "b 1"])
            site.clock.advance(by: .seconds(1))
            _ = try await log.wait(forCount: 3)
        }
        #expect(log.elements == ["a 1", "b 1", "a 2"])
        await broker.close()
    }

    @Test("G8: a closing outlives its broker, and the next one opens the gate", arguments: [29, 31])
    func restart(_ seconds: Int) async throws {
        let site = try Site()
        let log = EventLog<String>()
        let first = try await site.broker { $0.file.durability = .everything }
        try await first.closeGate("server", isPersistent: true, for: .seconds(30))
        try await first.enqueue(Note("a"))
        await first.close()
        site.clock.advance(by: .seconds(seconds))
        let second = try await site.broker { $0.file.durability = .everything }
        try second.route("*", Note.self, Self.gated) { note, _ in
            log.append(note.text)
            return .success
        }
        try await running(second) {
            if seconds < 30 {
                try await until { second.fileEngine.isAtRest(butFor: 0) }
                #expect(log.elements.isEmpty)
                site.clock.advance(by: .seconds(1))
            }
            _ = try await log.wait(forCount: 1)
        }
        try await #expect(second.gates().map(\.isOpen) == [true])
        await second.close()
    }

    @Test("Observers are told of each other end of a closing, and of nothing else")
    func ends() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let recorder = EventRecorder(of: broker)
        let now = site.clock.now
        for seconds in [30, 10, 60] { try await broker.closeGate("server", for: .seconds(seconds)) }
        try await broker.closeGate("server")
        try await broker.closeGate("server", for: .seconds(90))
        try await broker.openGate("server")
        try await recorder.wait(for: .gateOpened)
        let closings = recorder.history.events.filter { $0.kind == .gateClosed }
        #expect(closings.map(\.until) == [(now + .seconds(30)).date, (now + .seconds(60)).date, nil])
        await broker.close()
    }

    @Test("Observers are told of the end that another process has given a closing")
    func endElsewhere() async throws {
        let site = try Site(.file)
        let first = try await site.broker { $0.standFor(process: 1) }
        let second = try await site.broker { $0.standFor(process: 2) }
        let recorder = EventRecorder(of: first)
        let end = (site.clock.now + .seconds(60)).date
        try await running(first) {
            try await until { first.fileEngine.life.withLock { $0.hasLookedAround } }
            try await first.closeGate("server", for: .seconds(30))
            try await second.closeGate("server", for: .seconds(60))
            try await first.fileEngine.store.readForeignChanges()
            try await #expect(recorder.wait(for: .gateClosed, count: 2).until == end)
        }
        await first.close()
        await second.close()
    }

    @Test("Observers learn of the wait with its gate, then of the closing with its end, then of the opening")
    func events() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try broker.route("*", Note.self, Self.gated) { _, attempt in
            attempt.number == 1 ? .retry(after: .seconds(30), closing: "server") : .success
        }
        let recorder = EventRecorder(of: broker)
        try await broker.openGate("server")
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await recorder.wait(for: .gateClosed)
            site.clock.advance(by: .seconds(30))
            try await recorder.wait(for: .succeeded)
        }
        let kinds: [QueueEvent.Kind] = [.retrying, .gateClosed, .gateOpened, .succeeded]
        let events = recorder.history.events.drop { $0.kind != .retrying }.filter { kinds.contains($0.kind) }
        #expect(events.map(\.kind) == kinds)
        #expect(events.first?.gate == "server" && events.first?.delay == .seconds(30))
        #expect(events.dropFirst().first?.until == events.first?.time.addingTimeInterval(30))
        await broker.close()
    }
}
