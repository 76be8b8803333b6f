import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Settling in the application's transaction", .watched)
struct SucceedInTests {
    @Test("G3, G5: the commit settles the attempt, and the next one starts when the handler has returned")
    func commit() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        let (log, committed, go) = (EventLog<String>(), Signal(), Signal())
        try broker.route("*", Note.self) { note, attempt in
            log.append(note.text)
            try application.transaction { connection in
                try application.execute("INSERT INTO messages (text) VALUES ('\(note.text)')")
                try attempt.succeed(in: connection)
            }
            committed.send()
            if note.text == "a" { try await go.received() }
            return .success
        }
        let events = broker.events()
        let receipt = try await broker.enqueue(Note("a"))
        try await broker.enqueue(Note("b"))
        try await running(broker) {
            try await committed.received()
            async let settled = receipt.settled()
            #expect(try application.rows("SELECT id FROM sluice_actions") == ["2"])
            // The engine learns of the commit, and knows who made it.
            try await broker.fileEngine.store.readForeignChanges()
            #expect(log.elements == ["a"])
            try await #expect(settled == .succeeded)
            go.send()
            try await until { broker.statistics.succeeded == 2 }
        }
        #expect(log.elements == ["a", "b"])
        #expect(try application.rows("SELECT text FROM messages") == ["a", "b"])
        #expect(broker.statistics.staleCompletions == 0)
        #expect(broker.statistics.removed == 0)
        #expect(try application.row("SELECT count(*) FROM sluice_claim_rows") == "0")
        await broker.close()
        let lines = await events.lines()
        #expect(lines.contains("succeeded notes 1 note #1") && lines.contains("succeeded notes 2 note #1"))
        #expect(!lines.contains { $0.hasPrefix("removed") })
    }

    @Test(
        "G5: after the commit it makes no difference what the handler returns; after a rollback it does",
        arguments: [true, false]
    )
    func rollback(_ isCommitted: Bool) async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        let attempts = EventLog<Int>()
        try broker.route("*", Note.self, retrying(.fixed(.zero))) { _, attempt in
            attempts.append(attempt.number)
            try? application.transaction { connection in
                try application.execute("INSERT INTO messages (text) VALUES ('\(attempt.number)')")
                try attempt.succeed(in: connection)
                if !isCommitted { throw TestError("the application changes its mind") }
            }
            if attempt.number == 1 { throw TestError("too late, or not") }
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) { try await until { broker.statistics.succeeded == 1 } }
        #expect(attempts.elements == (isCommitted ? [1] : [1, 2]))
        #expect(try application.rows("SELECT text FROM messages") == (isCommitted ? ["1"] : []))
        #expect(broker.statistics.retried == (isCommitted ? 0 : 1))
        #expect(try application.row("SELECT count(*) FROM sluice_actions") == "0")
        await broker.close()
    }

    @Test("G6: an attempt that no longer counts is refused, and leaves the transaction as it was")
    func stale() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let application = try Application(fixture.file.path)
        func refusal(_ attempt: Attempt) throws -> SluiceError.Code? {
            try application.transaction { connection in
                try application.execute("INSERT INTO messages (text) VALUES ('x') ON CONFLICT DO NOTHING")
                return thrown { try attempt.succeed(in: connection) }?.code
            }
        }
        try await store.add((0..<4).map { ActionDraft("\($0)", in: QueueName("\($0)")) })
        // Taken over by another process.
        let takenOver = try await store.take("0")
        try fixture.execute("DELETE FROM sluice_claim_rows")
        #expect(try refusal(Attempt(takenOver, of: store)) == .staleReceipt)
        // Deleted.
        let deleted = try await store.take("1")
        try fixture.execute("DELETE FROM sluice_actions WHERE id = 2")
        #expect(try refusal(Attempt(deleted, of: store)) == .staleReceipt)
        // Settled, by the engine and by the application.
        let settled = try await store.take("2")
        try await store.settle(settled, .success)
        #expect(try refusal(Attempt(settled, of: store)) == .staleReceipt)
        let twice = try await store.take("3")
        #expect(try refusal(Attempt(twice, of: store)) == nil)
        #expect(try refusal(Attempt(twice, of: store)) == .staleReceipt)
        #expect(try await store.settle(twice, .success).result == .settledByApplication)
        // Of no broker, and without a transaction.
        #expect(try refusal(Attempt(twice)) == .staleReceipt)
        #expect(
            thrown { try Attempt(twice, of: store).succeed(in: application.handle) }?.code == .noTransaction
        )
        #expect(try fixture.rows("SELECT id FROM sluice_actions") == ["1"])
        #expect(try application.row("SELECT count(*) FROM messages") == "1")
        await store.close()
    }

    @Test("G6: an action that is deleted behind a rollback was removed, and has not succeeded")
    func deletedBehindRollback() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add([ActionDraft("a"), ActionDraft("b")])
        let action = try await store.take()
        let application = try Application(fixture.file.path)
        #expect(throws: TestError.self) {
            try application.transaction { connection in
                try Attempt(action, of: store).succeed(in: connection)
                throw TestError("the application changes its mind")
            }
        }
        async let settled = store.settled(action.receipt.action)
        try application.execute("DELETE FROM sluice_actions WHERE id = 1")
        try await store.readForeignChanges()
        #expect(try await settled == .removed)
        #expect(try await store.settle(action, .success).result == .removed)
        #expect(try await store.drain() == ["b"])
        await store.close()
    }

    @Test("G5: a process that dies between the commit and the handler's return does not run the action again")
    func death() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add([ActionDraft("a"), ActionDraft("b")])
        let action = try await fixture.store.take()
        let application = try Application(fixture.file.path)
        try application.transaction { try Attempt(action, of: fixture.store).succeed(in: $0) }
        // Its slot is taken until then, in every process.
        #expect(try await fixture.store.claim().word == "taken")
        let next = try await fixture.reopened()
        #expect(try await next.store.drain() == ["b"])
        await next.store.close()
    }

    @Test("What was known of the action goes with it: its key begins its retention, its history is gone")
    func forgotten() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let key = DraftExtras(key: DeduplicationKey("k", retention: .seconds(10)))
        try await store.add([ActionDraft("a", extras: key)])
        try await store.settle(try await store.take(), .retry(after: .zero, error: "e"))
        let action = try await store.take()
        let application = try Application(fixture.file.path)
        try application.transaction { try Attempt(action, of: store).succeed(in: $0) }
        for table in ["sluice_state_rows", "sluice_attempt_rows", "sluice_action_rows"] {
            #expect(try fixture.row("SELECT count(*) FROM \(table)") == "0", "\(table)")
        }
        #expect(try fixture.row("SELECT until_us IS NOT NULL FROM sluice_key_rows") == "1")
        #expect(try await store.settle(action, .success).result == .settledByApplication)
        await store.close()
    }
}
