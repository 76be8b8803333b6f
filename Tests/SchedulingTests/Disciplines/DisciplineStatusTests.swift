import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Why a queue with a discipline does not move", .watched)
struct DisciplineStatusTests {
    /// What the view says of the one queue, before a time that it may tell.
    private func shown(_ site: Site) throws -> String {
        let connection = try Connection(path: #require(site.file).path, mode: .write)
        return try connection.prepare("SELECT state || '|' || because || '|' || head_id FROM sluice_queues")
            .first { $0.text(0) } ?? "nothing"
    }

    @Test("G15: last in, first out: the last is of an unknown kind, and so they say")
    func unknownLast() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try broker.configure("notes", QueueOptions(discipline: .lastInFirstOut))
        try broker.route("notes", Note.self) { _, _ in .success }
        try await broker.enqueue(Note("a"))
        let last = try await broker.enqueue(Photo(album: "notes", width: 1)).id
        try await running(broker) {
            await broker.waitUntilIdle()
            try await #expect(broker.actionCount() == 2)
            let status = try await broker.status(of: "notes")
            #expect(status.because == [.unknownKind])
            #expect(status.head == last)
            #expect(try shown(site) == "unknown kind|unknown kind|\(last)")
        }
        await broker.close()
    }

    @Test("G15: in order, an older note of an action that is no longer the head counts for nothing")
    func displaced() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a", by: .integer(5))
        _ = try await fixture.store.claim(by: .forOthers)
        #expect(try fixture.row("SELECT state FROM sluice_queues") == "unknown kind")
        let first = try await fixture.store.add("b", by: .integer(1))
        #expect(try fixture.row("SELECT head_id FROM sluice_queues") == "\(first)")
        #expect(try fixture.row("SELECT state FROM sluice_queues") != "unknown kind")
    }

    @Test("G15: members wait for the start of their group, and they say until when that waits")
    func members() async throws {
        let site = try Site(.file, clock: .farAhead())
        let broker = try await site.broker()
        let options = retrying(.fixed(.seconds(60)))
        let log = EventLog<String>()
        try broker.configure("notes", QueueOptions(discipline: .passOver))
        try broker.route("notes", Note.self, options) { note, _ in
            log.append(note.text)
            return .retry
        }
        let start = try await broker.enqueue(Note("s"), EnqueueOptions(startsGroups: ["g"])).id
        try await broker.enqueue(Note("m"), EnqueueOptions(memberOf: ["g"]))
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            let due = (site.clock.now + .seconds(60)).date
            try await until { try await broker.status(of: "notes").because == [.retry(until: due)] }
            #expect(try await broker.status(of: "notes").head == start)
            let text = try shown(site)
            #expect(text.hasPrefix("retry|waiting for retry until") && text.hasSuffix("|\(start)"), "\(text)")
            #expect(log.elements == ["s"])
            try await #expect(broker.remainingWork() == .later(.seconds(60)))
        }
        // Also of a file that nobody runs: what another knows in memory does not count.
        await broker.close()
        let next = try await site.broker()
        try next.route("notes", Note.self, options) { _, _ in .success }
        try await #expect(next.remainingWork() == .later(.seconds(60)))
        await next.close()
    }
}
