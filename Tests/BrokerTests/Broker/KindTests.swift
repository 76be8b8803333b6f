import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("Kinds, routes and payloads that do not fit", .watched) struct KindTests {
    /// A note whose text is a number: another version of the type, which does not decode what ``Note`` wrote.
    private struct NumberedNote: Action {
        static let kind = Note.kind
        var text: Int
        var queue: QueueName { "notes" }
    }

    @Test("G2: actions of several kinds in one queue run in one order", arguments: QueueStorage.allCases)
    func severalKinds(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try broker.route("*", Photo.self) { photo, _ in
            log.append("photo \(photo.width)")
            return .success
        }
        try broker.routeAnyKind("*") { payload, attempt in
            log.append("\(attempt.kind) \(payload)")
            return .success
        }
        for number in 0..<20 {
            try await broker.enqueue(Note("\(number)", in: "mixed"))
            try await broker.enqueue(Photo(album: "mixed", width: number))
            try await broker.enqueue(raw: [RawAction(queue: "mixed", kind: "call", payload: "[\(number)]")])
        }
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == (0..<20).flatMap { ["\($0)", "photo \($0)", "call [\($0)]"] })
        await broker.close()
    }

    @Test(
        "G10, G15: a kind without a route stays, says why, blocks its queue, and runs when a route comes"
    )
    func unknownKind() async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.enqueue(Photo(album: "a", width: 7))
        try await broker.enqueue(Note("behind", in: "a"))
        try await broker.enqueue(Note("elsewhere", in: "b"))
        try await running(broker) {
            await broker.waitUntilIdle()
            let status = try await broker.status(of: "a")
            #expect(status.state == .unknownKind)
            #expect(status.because.first?.description == "unknown kind")
            #expect(status.headKind == "photo")
            #expect(status.depth == 2)
            #expect(log.elements == ["elsewhere"])
            try broker.route("a", Photo.self) { photo, attempt in
                log.append("photo \(photo.width) \(attempt.number)")
                return .success
            }
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["elsewhere", "photo 7 1", "behind"])
        await broker.close()
    }

    @Test("G10: a kind without a route runs after a restart with a route, and shows no reason any more")
    func unknownKindAfterRestart() async throws {
        let site = try Site(clock: .farAhead())
        let first = try await site.broker()
        try first.route("*", Note.self) { _, _ in .success }
        try await first.enqueue(Photo(album: "a", width: 7))
        try await running(first) { await first.waitUntilIdle() }
        try await #expect(first.status(of: "a").state == .unknownKind)
        await first.close()

        let second = try await site.broker()
        let (started, go) = (Signal(), Signal())
        try second.route("*", Photo.self) { _, _ in
            started.send()
            try await go.received()
            return .success
        }
        try await running(second) {
            try await started.received()
            try await #expect(second.status(of: "a").state == .running)
            go.send()
            await second.waitUntilIdle()
        }
        try await #expect(second.actionCount() == 0)
        await second.close()
    }

    @Test("G10, G15: a queue without any route says so, and runs when a route comes")
    func noRoute() async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes("a/*", to: log)
        try await broker.enqueue(Note("x", in: "b/1"))
        try await running(broker) {
            await broker.waitUntilIdle()
            let status = try await broker.status(of: "b/1")
            #expect(status.state == .noRoute)
            #expect(status.because.first?.description == "no route")
            try broker.routeNotes("b/*", to: log)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["x"])
        await broker.close()
    }

    @Test("G10: routes that come while thousands of heads are being claimed miss none of them")
    func routesDuringClaims() async throws {
        for round in 0..<20 {
            let site = try Site(.memory)
            let broker = try await site.broker()
            let log = EventLog<String>()
            try await running(broker) {
                try await broker.enqueue((0..<200).map { Note("\($0)", in: "q/\($0)") })
                try broker.routeNotes("*", to: log)
                await broker.waitUntilIdle()
                _ = try await log.wait(forCount: 200)
            }
            #expect(Set(log.elements).count == 200, "round \(round)")
        }
    }

    @Test("G10, G13: what does not decode stays, with a reason without the payload, spending no attempt")
    func undecodable() async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker()
        try broker.route("*", NumberedNote.self) { _, _ in .success }
        try await broker.enqueue([Note("canary"), Note("b")])
        try await running(broker) {
            await broker.waitUntilIdle()
            let status = try await broker.status(of: "notes")
            #expect(status.state == .undecodable)
            #expect(status.because.first?.description == "undecodable")
            #expect(status.depth == 2)
            #expect(status.attempt == 0)
            let error = try #require(status.lastError)
            #expect(error == "the payload does not decode as 'note': at 'text' it is not a Int")
        }
        try await #expect(broker.actionCount() == 2)
        await broker.close()
    }

    @Test("G10: what does not decode runs after a restart with a type that fits, as its first attempt")
    func undecodableAfterRestart() async throws {
        let site = try Site()
        let first = try await site.broker()
        try first.route("*", NumberedNote.self) { _, _ in .success }
        try await first.enqueue([Note("a"), Note("b")])
        try await running(first) { await first.waitUntilIdle() }
        await first.close()

        let second = try await site.broker()
        let log = EventLog<String>()
        try second.route("*", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return .success
        }
        try await running(second) { await second.waitUntilIdle() }
        #expect(log.elements == ["a 1", "b 1"])
        await second.close()
    }

    @Test("G10: what does not decode runs when a more specific route that fits is added meanwhile")
    func undecodableThenRoute() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", NumberedNote.self) { _, _ in .success }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            await broker.waitUntilIdle()
            try broker.routeNotes("notes", to: log)
            _ = try await log.wait(forCount: 1)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a"])
    }

    @Test("G4: an arrival that sorts before an undecodable head does not lift its parking; a removal does")
    func arrivalBeforeUndecodable() async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let bad = RawAction(queue: "notes", kind: "note", sortKey: .integer(5), payload: "{}")
        let ids = try await broker.enqueue(raw: [bad])
        try await running(broker) {
            await broker.waitUntilIdle()
            try await broker.enqueue(Note("early", order: .integer(1)))
            try await broker.enqueue(Note("late", order: .integer(9)))
            await broker.waitUntilIdle()
            try await #expect(broker.status(of: "notes").state == .undecodable)
            #expect(log.elements == [])
            try await #expect(broker.cancel(ids[0]) == .removed)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["early", "late"])
        await broker.close()
    }

    @Test("Queue options: the most specific pattern holds alone, and a second set is refused")
    func queueOptions() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try broker.configure("a/*", QueueOptions(sortKey: .integer, maximumDepth: 1))
        try broker.configure("a/b", QueueOptions(maximumDepth: 2))
        let duplicate = #expect(throws: SluiceError.self) { try broker.configure("a/*", QueueOptions()) }
        #expect(duplicate?.code == .duplicateQueueOptions)
        let invalid = #expect(throws: SluiceError.self) {
            try broker.configure("c", QueueOptions(maximumDepth: 0))
        }
        #expect(invalid?.code == .invalidOptions)

        try await broker.enqueue([Note("1", in: "a/b"), Note("2", in: "a/b")])
        let full = await #expect(throws: SluiceError.self) { try await broker.enqueue(Note("3", in: "a/b")) }
        #expect(full?.code == .queueFull)
        let mismatch = await #expect(throws: SluiceError.self) {
            try await broker.enqueue(Note("1", in: "a/c"))
        }
        #expect(mismatch?.code == .sortKeyMismatch)
        try await broker.enqueue(Note("1", in: "a/c", order: .integer(1)))
        try await #expect(broker.actionCount() == 3)
    }

    @Test("A route may be added twice for two kinds, but not twice for one, at a running broker too")
    func duplicateRoutes() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try broker.route("*", Note.self) { _, _ in .success }
        try broker.route("*", Photo.self) { _, _ in .success }
        try await running(broker) {
            let error = #expect(throws: SluiceError.self) {
                try broker.route("*", Note.self) { _, _ in .fail("the second route") }
            }
            #expect(error?.code == .duplicateRoute)
            try await broker.enqueue(Note("a"))
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.succeeded == 1)
    }
}
