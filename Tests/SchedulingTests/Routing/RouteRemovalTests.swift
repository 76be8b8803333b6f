import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// An object of an application that a handler captures.
private final class Token: Sendable {}

@Suite("Routes and options that change while the broker runs", .watched)
struct RouteRemovalTests {
    @Test("G10: a running handler finishes with its removed route, and the next heads wait for a new one")
    func replaced() async throws {
        let broker = try await Site(.memory).broker()
        let (log, started, goOn) = (EventLog<String>(), Signal(), Signal())
        defer { goOn.send() }
        try broker.route("notes", Note.self) { note, _ in
            started.send()
            await goOn.receivedInAnyCase()
            log.append("old \(note.text)")
            return .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            try await started.received()
            try #expect(broker.removeRoute("notes", Note.self))
            try #expect(!broker.removeRoute("notes", Note.self))
            goOn.send()
            try await until { try await broker.status(of: "notes").because.first == .noRoute }
            #expect(log.elements == ["old a"])
            try broker.route("notes", Note.self) { note, _ in
                log.append("new \(note.text)")
                return .success
            }
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["old a", "new b"])
        await broker.close()
    }

    @Test("A queue that lacks a permit of a removed route runs by the new one, though the old one is busy")
    func permits() async throws {
        let broker = try await Site(.memory).broker()
        let (log, started, goOn) = (EventLog<String>(), Signal(), Signal())
        defer { goOn.send() }
        try broker.route("*", Note.self, RouteOptions(concurrency: 1)) { _, _ in
            started.send()
            await goOn.receivedInAnyCase()
            return .success
        }
        try await broker.enqueue(Note("a", in: "a"))
        try await running(broker) {
            try await started.received()
            try await broker.enqueue(Note("b", in: "b"))
            try await until { try await broker.status(of: "b").because.first == .permit(.route("*")) }
            try #expect(broker.removeRoutes("*"))
            try #expect(!broker.removeRoutes("*"))
            try broker.routeNotes(to: log)
            try await #expect(log.wait(forCount: 1) == ["b"])
            goOn.send()
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.succeeded == 2)
        await broker.close()
    }

    @Test("G11, G15: a queue at a gate of the old route, and one at its rate limit, run by what replaces it")
    func obstacles() async throws {
        let broker = try await Site(.memory).broker()
        let log = EventLog<String>()
        @Sendable func route(_ pattern: QueuePattern, _ options: RouteOptions) throws {
            try broker.route(pattern, Note.self, options) { note, _ in
                log.append(note.text)
                return .success
            }
        }
        try route("a", RouteOptions(gates: ["network"]))
        try route("b/*", RouteOptions(rate: RateLimit(1, per: .seconds(3_600))))
        try await broker.enqueue([Note("a", in: "a"), Note("b", in: "b/1"), Note("b", in: "b/2")])
        try await running(broker) {
            try await until { try await broker.status(of: "a").state == .gate }
            try await #expect(log.wait(forCount: 1) == ["b"])
            try route("a", RouteOptions(replaces: true))
            try await #expect(log.wait(forCount: 2) == ["b", "a"])
            try route("b/*", RouteOptions(replaces: true))
            try await #expect(log.wait(forCount: 3) == ["b", "a", "b"])
            await broker.waitUntilIdle()
        }
        await broker.close()
    }

    @Test("G12: a removed route releases its handler")
    func released() async throws {
        let broker = try await Site(.memory).broker()
        weak var token: Token?
        do {
            let captured = Token()
            token = captured
            try broker.route("notes", Note.self) { _, _ in withExtendedLifetime(captured) { .success } }
        }
        #expect(token != nil)
        try #expect(broker.removeRoute("notes", kind: Note.kind))
        #expect(token == nil)
        await broker.close()
    }

    @Test("A union's route stays for its other kinds when the route of one is removed")
    func kindOfUnion() throws {
        var table = RouteTable()
        try table.add(.pattern("a"), kinds: ["note", "photo"], options: RouteOptions()) { _, _ in
            .outcome(.success)
        }
        let wasNote = try table.remove("a", kind: "note")
        #expect(wasNote)
        #expect(table.admission.route(for: "a", kind: "note").route == nil)
        guard case .route = table.current.route(for: "a", kind: "photo") else {
            Issue.record("the other kind has no route")
            return
        }
        let wasPhoto = try table.remove("a", kind: "photo")
        #expect(wasPhoto)
        #expect(!table.admission.route(for: "a", kind: "photo").matchesQueue)
    }

    @Test("G2: the order is that of the options at each claim, also in memory")
    func order() async throws {
        let broker = try await Site(.memory).broker()
        let (log, started, goOn) = (EventLog<String>(), Signal(), Signal())
        defer { goOn.send() }
        try broker.configure("notes", QueueOptions(discipline: .lastInFirstOut))
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            started.send()
            await goOn.receivedInAnyCase()
            return .success
        }
        try await broker.enqueue([Note("0")])
        try await running(broker) {
            try await started.received()
            try await broker.enqueue(["1", "2", "3"].map { Note($0) })
            try await #expect(broker.removeQueueOptions("notes"))
            try await #expect(!broker.removeQueueOptions("notes"))
            goOn.send()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["0", "1", "2", "3"])
        await broker.close()
    }

    @Test("A batch that gathers starts when its rule is removed, and a new rule gathers again")
    func batches() async throws {
        let broker = try await Site(.memory).broker()
        let log = EventLog<String>()
        let batches = QueueOptions(start: .batch(count: 10, after: .seconds(600)))
        try broker.configure("notes", batches)
        try broker.routeNotes(to: log)
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { try await broker.status(of: "notes").state == .scheduled }
            try await broker.removeQueueOptions("notes")
            await broker.waitUntilIdle()
            #expect(log.elements == ["a"])
            try broker.configure("notes", batches)
            try await broker.enqueue(Note("b"))
            try await until { try await broker.status(of: "notes").state == .scheduled }
            #expect(log.elements == ["a"])
        }
        await broker.close()
    }

    @Test("The depth of a queue is that of the options at each enqueue")
    func depth() async throws {
        let broker = try await Site(.memory).broker()
        try broker.configure("notes", QueueOptions(maximumDepth: 1))
        try await broker.enqueue(Note("a"))
        let refused = await #expect(throws: SluiceError.self) { try await broker.enqueue(Note("b")) }
        #expect(refused?.code == .queueFull)
        try await #expect(broker.replaceQueueOptions("notes", by: QueueOptions(maximumDepth: 2)))
        try await broker.enqueue(Note("b"))
        try await #expect(broker.actionCount() == 2)
        let invalid = await #expect(throws: SluiceError.self) {
            try await broker.replaceQueueOptions("notes", by: QueueOptions(maximumDepth: 0))
        }
        #expect(invalid?.code == .invalidOptions)
        await #expect(throws: SluiceError.self) { try await broker.enqueue(Note("c")) }
        await broker.close()
    }
}
