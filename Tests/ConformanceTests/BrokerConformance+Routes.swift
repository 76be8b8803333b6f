import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// Work of two kinds.
private enum Work: ActionUnion {
    case note(Note)
    case photo(Photo)

    static let cases: [ActionCase<Work>] = [ActionCase { .note($0) }, ActionCase { .photo($0) }]
}

private struct Draft1: Codable { var text: String }

private struct Draft: Action {
    static let kind = "draft"
    static let version = 2
    var subject: String
    var body: String
    var queue: QueueName { "notes" }
}

/// The choice of routes, and their removal.
extension BrokerConformance {
    func idleQueues(_ broker: Broker) async throws {
        let (log, started, go) = (EventLog<String>(), Signal(), Signal())
        try broker.route("busy", Note.self) { _, _ in
            started.send()
            try await go.received()
            return .success
        }
        try broker.route("mine/*", Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
        try await broker.enqueue(Note("long", in: "busy"))
        try await running(broker) {
            try await started.received()
            try await broker.enqueue((0..<9).map { Note("\($0)", in: "mine/\($0 % 3)") })
            try await broker.waitUntilIdle("mine/*")
            #expect(log.elements.count == 9)
            try await #expect(broker.status(of: "busy").state == .running)
            go.send()
            await broker.waitUntilIdle()
        }
    }

    func predicates(_ broker: Broker) async throws {
        let log = EventLog<String>()
        let isMedia: @Sendable (QueueName) -> Bool = { $0.rawValue.hasSuffix("/media") }
        try broker.route(where: isMedia, Note.self) { note, _ in
            log.append("media \(note.text)")
            return .success
        }
        try broker.route("a/*", Note.self) { note, _ in
            log.append("a \(note.text)")
            return .success
        }
        let queues: [QueueName] = ["a/media", "b/media", "b/text"]
        try await broker.enqueue(queues.enumerated().map { Note("\($0.offset + 1)", in: $0.element) })
        try await running(broker) {
            await broker.waitUntilIdle()
            try await #expect(broker.status(of: "b/text").state == .noRoute)
            try #expect(broker.removePredicateRoutes())
            try await broker.enqueue(Note("4", in: "b/media"))
            await broker.waitUntilIdle()
            try await #expect(broker.status(of: "b/media").state == .noRoute)
        }
        #expect(Set(log.elements) == ["a 1", "media 2"])
    }

    func declined(_ broker: Broker) async throws {
        let log = EventLog<String>()
        try broker.route("notes", Note.self) { _, attempt in
            log.append("first \(attempt.number)")
            return .declined
        }
        try broker.route("*", Note.self) { note, attempt in
            log.append("second \(attempt.number)")
            return note.text == "nobody's" && log.elements.count < 5 ? .declined : .success
        }
        try await broker.enqueue([Note("a"), Note("nobody's")])
        try await running(broker) {
            try await until { try await broker.status(of: "notes").state == .retry }
            #expect(log.elements == ["first 1", "second 1", "first 1", "second 1"])
            let error = try await broker.status(of: "notes").lastError
            #expect(error == "every route answered that the action is not its own")
            engine.clock.advance(by: .seconds(60))
            await broker.waitUntilIdle()
        }
        #expect(log.elements.suffix(2) == ["first 1", "second 1"])
        try await #expect(broker.actionCount() == 0)
    }

    func unions(_ broker: Broker) async throws {
        let log = EventLog<String>()
        try broker.route("taken", Photo.self) { _, _ in .success }
        #expect(throws: SluiceError.self) { try broker.route("taken", Work.self) { _, _ in .success } }
        try broker.route("work/*", Work.self) { work, _ in
            switch work {
            case .note(let note): log.append(note.text)
            case .photo(let photo): log.append("width \(photo.width)")
            }
            return .success
        }
        try await broker.enqueue(Note("refused", in: "taken"))
        try await broker.enqueue(Note("a", in: "work/1"))
        try await broker.enqueue(Photo(album: "work/1", width: 3))
        try await running(broker) {
            await broker.waitUntilIdle()
            try await #expect(broker.status(of: "taken").state == .unknownKind)
        }
        #expect(log.elements == ["a", "width 3"])
        try #expect(broker.removeRoute("work/*", Work.self))
        try #expect(!broker.removeRoute("work/*", Work.self))
    }

    func attemptBroker(_ broker: Broker) async throws {
        let log = EventLog<String>()
        try broker.route("*", Note.self) { [weak broker] note, attempt in
            log.append(note.text)
            #expect(attempt.broker === broker)
            if note.text == "a" { try await attempt.broker.enqueue(Note("b", in: "others")) }
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await drain(broker)
        #expect(log.elements == ["a", "b"])
    }

    func upgrades(_ broker: Broker) async throws {
        let log = EventLog<String>()
        try broker.route("notes", Draft.self) { draft, _ in
            log.append("\(draft.subject): \(draft.body)")
            return .success
        }
        let old = RawAction(queue: "notes", kind: Draft.kind, payload: #"{"text": "a"}"#)
        try await broker.enqueue(raw: [old])
        try await running(broker) {
            try await until { try await broker.status(of: "notes").state == .undecodable }
            try broker.upgrade(Draft.self, from: 1, reading: Draft1.self) { old in
                Draft(subject: "old", body: old.text)
            }
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["old: a"])
        #expect(throws: SluiceError.self) {
            try broker.upgrade(kind: Draft.kind, from: 1) { $0 }
        }
    }

    func replaces(_ broker: Broker) async throws {
        let (log, started, go) = (EventLog<String>(), Signal(), Signal())
        try broker.configure("notes", QueueOptions(maximumDepth: 2))
        try broker.route("notes", Note.self) { note, _ in
            started.send()
            try await go.received()
            log.append("old \(note.text)")
            return .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            try await started.received()
            try #expect(broker.removeRoutes("notes"))
            try await #expect(broker.replaceQueueOptions("notes", by: QueueOptions(maximumDepth: 3)))
            try await #expect(broker.removeQueueOptions("notes"))
            try await broker.enqueue(Note("c"))
            go.send()
            try await until { try await broker.status(of: "notes").state == .noRoute }
            try broker.route("notes", Note.self) { note, _ in
                log.append("new \(note.text)")
                return .success
            }
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["old a", "new b", "new c"])
    }
}
