import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Work of two kinds.
private enum Work: ActionUnion {
    case note(Note)
    case photo(Photo)

    static let cases: [ActionCase<Work>] = [ActionCase { .note($0) }, ActionCase { .photo($0) }]

    var name: String {
        switch self {
        case .note: "note"
        case .photo: "photo"
        }
    }
}

/// Two cases of one kind.
private enum Twice: ActionUnion {
    case first(Note)
    case second(Note)

    static let cases: [ActionCase<Twice>] = [ActionCase { .first($0) }, ActionCase { .second($0) }]
}

/// Notes the pattern that each attempt began with, and its result.
private struct Watching: Middleware {
    let log: EventLog<String>

    func attempt(_ context: AttemptContext, next: NextAttempt) async throws -> AttemptResult {
        let result = try await next()
        log.append("\(context.pattern) \(result.kind) \(result.delay ?? .zero)")
        return result
    }
}

extension Broker {
    /// Routes notes to a log of a name, the text and the attempt's number; they end with `outcome`.
    fileprivate func route(
        _ pattern: QueuePattern,
        as name: String,
        _ log: EventLog<String>,
        _ options: RouteOptions = RouteOptions(),
        _ outcome: Outcome = .success
    ) throws {
        try route(pattern, Note.self, options) { note, attempt in
            log.append("\(name) \(note.text) \(attempt.number)")
            return outcome
        }
    }
}

private let isAny: @Sendable (QueueName) -> Bool = { _ in true }
private let nobody = "every route answered that the action is not its own"

@Suite("The choice of a route", .watched) struct RouteChoiceTests {
    @Test("G10: predicates come after all patterns, the first that was added before the others")
    func predicates() async throws {
        let broker = try await Site(.memory).broker()
        let log = EventLog<String>()
        let isMedia: @Sendable (QueueName) -> Bool = { $0.rawValue.hasSuffix("/media") }
        try broker.route(where: isMedia, Note.self) { note, _ in
            log.append("first \(note.text)")
            return .success
        }
        let isOfA: @Sendable (QueueName) -> Bool = { $0.rawValue.hasPrefix("a") }
        try broker.route(where: isOfA, Note.self) { note, _ in
            log.append("second \(note.text)")
            return .success
        }
        try broker.routeNotes("a/1/media", to: log)
        try broker.routeNotes("z/*", to: log)
        let queues: [QueueName] = ["a/1/media", "z/1/media", "a/2/media", "a/3", "b/4"]
        try await broker.enqueue(queues.map { Note($0.rawValue, in: $0) })
        try await running(broker) {
            await broker.waitUntilIdle()
            try await #expect(broker.status(of: "b/4").because.first == .noRoute)
        }
        #expect(Set(log.elements) == ["a/1/media", "z/1/media", "first a/2/media", "second a/3"])
        await broker.close()
    }

    @Test("A kind without a route in a queue that a predicate matches is unknown there")
    func unknownKind() async throws {
        let broker = try await Site(.memory).broker()
        try broker.route(where: isAny, Photo.self) { _, _ in .success }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            await broker.waitUntilIdle()
            try await #expect(broker.status(of: "notes").because.first == .unknownKind)
            try #expect(broker.removePredicateRoutes())
            try #expect(!broker.removePredicateRoutes())
            try await #expect(broker.status(of: "notes").because.first == .noRoute)
        }
        await broker.close()
    }

    @Test("Not mine: each of the next routes gets the same attempt once, and the policy is the last one's")
    func declined() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("notes", as: "exact", log, retrying(.fixed(.seconds(99))), .declined)
        try broker.routeAnyKind("notes") { _, attempt in
            log.append("any \(attempt.number)")
            return .declined
        }
        try broker.route("*", Note.self, retrying(.fixed(.seconds(9)))) { _, attempt in
            log.append("wide \(attempt.number)")
            if attempt.number == 1 { throw TestError("busy") }
            return .success
        }
        try broker.route(where: isAny, Note.self) { _, _ in
            log.append("never")
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { broker.statistics.retried == 1 }
            site.clock.advance(by: .seconds(9))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["exact a 1", "any 1", "wide 1", "exact a 2", "any 2", "wide 2"])
        #expect(broker.statistics.released == 0 && broker.statistics.succeeded == 1)
        await broker.close()
    }

    @Test("G10: an action that no route takes stays with the reason, and is tried again after a minute")
    func nobodys() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let numbers = EventLog<Int>()
        try broker.route("*", Note.self) { _, attempt in
            numbers.append(attempt.number)
            return numbers.elements.count == 1 ? .declined : .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { try await broker.status(of: "notes").state == .retry }
            let status = try await broker.status(of: "notes")
            #expect(status.lastError == nobody && status.attempt == 0)
            site.clock.advance(by: .seconds(59))
            try await #expect(broker.status(of: "notes").state == .retry)
            site.clock.advance(by: .seconds(1))
            await broker.waitUntilIdle()
        }
        #expect(numbers.elements == [1, 1])
        #expect(broker.statistics.released == 1)
        await broker.close()
    }

    @Test("The timeout of the route that an action is passed on to counts")
    func timeout() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let started = Signal()
        try broker.route("notes", Note.self) { _, _ in .declined }
        let options = RouteOptions(retry: .fixed(.seconds(60)), timeout: .seconds(5))
        try broker.route("*", Note.self, options) { _, _ in
            started.send()
            try await untilCancelled()
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await started.received()
            site.clock.advance(by: .seconds(5))
            try await until { broker.statistics.retried == 1 }
            #expect(broker.statistics.timeouts == 1)
            try await #expect(broker.status(of: "notes").lastError == "timed out after 5.0 seconds")
        }
        await broker.close()
    }

    @Test("Middleware sees one attempt, with the first route's pattern and the last one's policy")
    func middleware() async throws {
        let log = EventLog<String>()
        let broker = try await Site(.memory).broker { $0.middleware = [Watching(log: log)] }
        try broker.route("notes", as: "exact", log, RouteOptions(), .declined)
        try broker.route("*", as: "wide", log, retrying(.fixed(.seconds(9))), .retry)
        try await broker.enqueue(Note("a"))
        try await running(broker) { try await until { broker.statistics.retried == 1 } }
        #expect(log.elements == ["exact a 1", "wide a 1", "notes retrying 9.0 seconds"])
        await broker.close()
    }

    @Test("A union's kinds share one limit; they are added all or none, and the refusal names the kind")
    func union() async throws {
        let broker = try await Site(.memory).broker()
        try broker.route("taken", Photo.self) { _, _ in .success }
        let refused = #expect(throws: SluiceError.self) {
            try broker.route("taken", Work.self) { _, _ in .success }
        }
        #expect(refused?.code == .duplicateRoute && "\(refused as Any)".contains("'photo'"))
        // It would be refused if the kinds before the refused one had been added.
        try broker.routeNotes("taken", to: EventLog<String>())
        let double = #expect(throws: SluiceError.self) {
            try broker.route("twice", Twice.self) { _, _ in .success }
        }
        #expect(double?.code == .duplicateRoute)

        let (started, goOn) = (EventLog<String>(), Signal())
        defer { goOn.send() }
        try broker.route("x/*", Work.self, RouteOptions(concurrency: 1)) { work, _ in
            started.append(work.name)
            await goOn.receivedInAnyCase()
            return .success
        }
        try await broker.enqueue(Note("a", in: "x/1"))
        try await broker.enqueue(Photo(album: "x/2", width: 3))
        try await running(broker) {
            _ = try await started.wait(forCount: 1)
            try await until {
                try await broker.statuses(matching: "x/*").contains {
                    $0.because.first == .permit(.route("x/*"))
                }
            }
            #expect(started.elements.count == 1)
            goOn.send()
            await broker.waitUntilIdle()
        }
        #expect(Set(started.elements) == ["note", "photo"])
        await broker.close()
    }
}
