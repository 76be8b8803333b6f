import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

/// The row of Customer.io in the table of designs: passes and groups.
@Suite("Customer.io: passes in which failed actions are passed over", .watched)
struct CustomerIOPassTests {
    /// A handler that fails what its test says, until it no longer does.
    private final class Server: Sendable {
        let attempts = EventLog<String>()
        private let down: EventLog<String> = EventLog()
        private let up: EventLog<String> = EventLog()

        func fail(_ texts: String...) { for text in texts { down.append(text) } }
        func mend(_ texts: String...) { for text in texts { up.append(text) } }

        func send(_ text: String) -> Outcome {
            attempts.append(text)
            return down.elements.contains(text) && !up.elements.contains(text) ? .retry : .success
        }
    }

    private func open(
        _ site: Site,
        _ server: Server,
        retry: RetryPolicy = .fixed(.seconds(60))
    ) async throws -> Broker {
        let broker = try await site.broker()
        let options = retrying(retry)
        try broker.configure("notes", QueueOptions(discipline: .passOver))
        try broker.route("notes", Note.self, options) { note, _ in server.send(note.text) }
        return broker
    }

    @Test(
        "A failed action keeps its place and is passed over until the next pass",
        arguments: QueueStorage.allCases
    )
    func onePass(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let server = Server()
        server.fail("b")
        let broker = try await open(site, server)
        try await broker.enqueue(["a", "b", "c", "d"].map { Note($0) })
        try await running(broker) {
            _ = try await server.attempts.wait(forCount: 4)
            #expect(server.attempts.elements == ["a", "b", "c", "d"])
            server.mend("b")
            try await broker.enqueue(Note("e"))
            _ = try await server.attempts.wait(forCount: 5)
            site.clock.advance(by: .seconds(60))
            await broker.waitUntilIdle()
        }
        #expect(server.attempts.elements == ["a", "b", "c", "d", "e", "b"])
        await broker.close()
    }

    @Test(
        "Expiry: a start that expires is set aside, and so is a member; other members wait for the next pass",
        arguments: QueueStorage.allCases
    )
    func expiry(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let server = Server()
        let broker = try await open(site, server)
        let end = (site.clock.now + .seconds(10)).date
        try await broker.enqueue(Note("start"), EnqueueOptions(expiresAt: end, startsGroups: ["g"]))
        try await broker.enqueue(Note("old member"), EnqueueOptions(expiresAt: end, memberOf: ["g"]))
        try await broker.enqueue(Note("member"), EnqueueOptions(memberOf: ["g"]))
        try await broker.enqueue(Note("other"))
        site.clock.advance(by: .seconds(10))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(server.attempts.elements == ["other", "member"])
        let dead = try await broker.deadLetters()
        #expect(dead.map(\.cause) == [.expired, .expired] && dead.map(\.attempts) == [0, 0])
        await broker.close()
    }

    @Test(
        "The published bug: a failing head is not run again after every success, however soon it is due",
        arguments: QueueStorage.allCases
    )
    func publishedBug(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let server = Server()
        server.fail("head")
        // Due at once: by its delay alone it would be the first again after every success.
        let broker = try await open(site, server, retry: .fixed(.zero).limited(to: 3))
        let texts = (0..<20).map { "\($0)" }
        try await broker.enqueue((["head"] + texts).map { Note($0) })
        try await running(broker) {
            _ = try await server.attempts.wait(forCount: 23)
            await broker.waitUntilIdle()
        }
        #expect(server.attempts.elements == ["head"] + texts + ["head", "head"])
        await broker.close()
    }

    @Test(
        "When the start of a group fails, its members behind it are skipped, the rest go on",
        arguments: QueueStorage.allCases
    )
    func groups(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let server = Server()
        server.fail("identify")
        let broker = try await open(site, server)
        try await broker.enqueue(Note("before"), EnqueueOptions(memberOf: ["profile"]))
        try await broker.enqueue(Note("identify"), EnqueueOptions(startsGroups: ["profile"]))
        try await broker.enqueue(
            Note("register"),
            EnqueueOptions(startsGroups: ["device"], memberOf: ["profile"])
        )
        try await broker.enqueue(Note("push"), EnqueueOptions(memberOf: ["device"]))
        try await broker.enqueue(Note("metric"))
        try await running(broker) {
            _ = try await server.attempts.wait(forCount: 3)
            // What depends on a skipped start is skipped too: that has not succeeded either.
            #expect(server.attempts.elements == ["before", "identify", "metric"])
            server.mend("identify")
            try await broker.enqueue(Note("late"), EnqueueOptions(memberOf: ["profile"]))
            site.clock.advance(by: .seconds(60))
            await broker.waitUntilIdle()
        }
        #expect(
            server.attempts.elements
                == ["before", "identify", "metric", "identify", "register", "push", "late"]
        )
        await broker.close()
    }

    @Test("Groups and the pass hold over a restart")
    func restart() async throws {
        let site = try Site(.file)
        let server = Server()
        server.fail("identify")
        let first = try await open(site, server)
        try await first.enqueue(Note("identify"), EnqueueOptions(startsGroups: ["profile"]))
        for number in 0..<9 {
            try await first.enqueue(Note("event \(number)"), EnqueueOptions(memberOf: ["profile"]))
        }
        try await running(first) {
            try await until { first.statistics.retried == 1 }
        }
        await first.close()
        let second = try await open(site, server)
        try await second.enqueue(Note("other"))
        try await running(second) {
            _ = try await server.attempts.wait(forCount: 2)
            // The profile is still unknown to the server.
            #expect(server.attempts.elements == ["identify", "other"])
            server.mend("identify")
            try await #expect(second.retryNow("notes") == 1)
            await second.waitUntilIdle()
        }
        let events = (0..<9).map { "event \($0)" }
        #expect(server.attempts.elements == ["identify", "other", "identify"] + events)
        await second.close()
    }

    @Test("A start that is removed, or becomes a dead letter, lets its members go: in the pass after that")
    func startGoes() async throws {
        let site = try Site(.memory)
        let server = Server()
        let broker = try await site.broker()
        var options = retrying(.fixed(.seconds(60)))
        options.failure.failed = .skip
        try broker.configure("notes", QueueOptions(discipline: .passOver))
        try broker.route("notes", Note.self, options) { note, _ in
            _ = server.send(note.text)
            return note.text == "refused" ? .fail("400") : note.text == "down" ? .retry : .success
        }
        try await broker.enqueue(Note("refused"), EnqueueOptions(startsGroups: ["a"]))
        try await broker.enqueue(Note("of a"), EnqueueOptions(memberOf: ["a"]))
        let down = try await broker.enqueue(Note("down"), EnqueueOptions(startsGroups: ["b"]))
        try await broker.enqueue(Note("of b"), EnqueueOptions(memberOf: ["b"]))
        try await broker.enqueue(Note("free"))
        try await running(broker) {
            _ = try await server.attempts.wait(forCount: 4)
            #expect(server.attempts.elements == ["refused", "down", "free", "of a"])
            try await #expect(broker.cancel(down.id) == .removed)
            _ = try await server.attempts.wait(forCount: 5)
        }
        #expect(server.attempts.elements.last == "of b")
        await broker.close()
    }

    @Test("A dead letter that is put back has its groups again")
    func deadLetters() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        var options = retrying(.fixed(.seconds(60)))
        options.failure.failed = .skip
        let log = EventLog<String>()
        try broker.configure("notes", QueueOptions(discipline: .passOver))
        try broker.route("notes", Note.self, options) { note, _ in
            log.append(note.text)
            guard note.text == "start" else { return .success }
            return [.fail("no"), .retry, .success][log.elements.count { $0 == "start" } - 1]
        }
        let start = try await broker.enqueue(Note("start"), EnqueueOptions(startsGroups: ["g"]))
        try await running(broker) {
            await broker.waitUntilIdle()
            try await broker.enqueue(Note("member"), EnqueueOptions(notBefore: nil, memberOf: ["g"]))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["start", "member"])
        try await broker.enqueue(Note("member"), EnqueueOptions(memberOf: ["g"]))
        try await #expect(broker.requeue(start.id))
        try await running(broker) {
            try await until { broker.statistics.retried == 1 }
            #expect(log.elements == ["start", "member", "start"])
            site.clock.advance(by: .seconds(60))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["start", "member", "start", "start", "member"])
        await broker.close()
    }
}
