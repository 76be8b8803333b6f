#if GRDB
import Foundation
import GRDB
import Sluice
import SluiceGRDB
import SluiceTestKit
import TestSupport
import Testing

@Suite("Settling in GRDB's transaction", .watched)
struct SettlingTests {
    @Test("G5: the row, the end of the action and a follow-up are one commit", arguments: Kind.allCases)
    func success(_ kind: Kind) async throws {
        let application = try Application(kind)
        let broker = try await application.broker()
        let log = EventLog<String>()
        try broker.route("notes", Note.self) { note, attempt in
            try await attempt.success(in: application.database) { db in
                _ = try application.insert(note.text, db)
                try broker.enqueue(Note("after \(note.text)", in: "other"), in: db)
            }
        }
        try broker.route("other", Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
        try await running(broker) {
            try await broker.enqueue(Note("a"))
            try await #expect(log.wait(forCount: 1) == ["after a"])
            try await until { broker.statistics.succeeded == 2 }
        }
        try await #expect(application.rows("SELECT text FROM message") == ["a"])
        try await #expect(application.row("SELECT count(*) FROM sluice_actions") == "0")
        await broker.close()
    }

    @Test("What the updates throw undoes them, and is a retry", arguments: Kind.allCases)
    func retried(_ kind: Kind) async throws {
        let application = try Application(kind)
        let broker = try await application.broker()
        try broker.route("*", Note.self, RouteOptions(retry: .fixed(.zero))) { note, attempt in
            try await attempt.success(in: application.database) { db in
                _ = try application.insert("attempt \(attempt.number)", db)
                if attempt.number == 1 { throw Refusal() }
            }
        }
        try await running(broker) {
            try await broker.enqueue(Note("a"))
            try await until { broker.statistics.succeeded == 1 }
        }
        try await #expect(application.rows("SELECT text FROM message") == ["attempt 2"])
        await broker.close()
    }

    @Test("G6: an attempt whose action was removed writes nothing", arguments: Kind.allCases)
    func stale(_ kind: Kind) async throws {
        let application = try Application(kind)
        let broker = try await application.broker()
        let codes = EventLog<SluiceError.Code?>()
        try broker.route("*", Note.self) { note, attempt in
            try await application.database.write { db in
                try db.execute(sql: "DELETE FROM sluice_actions WHERE id = \(attempt.id)")
            }
            let code = await code {
                _ = try await attempt.success(in: application.database) { db in
                    _ = try application.insert("never", db)
                }
            }
            codes.append(code)
            return .success
        }
        try await running(broker) {
            try await broker.enqueue(Note("a"))
            try await #expect(codes.wait(forCount: 1) == [.staleReceipt])
        }
        try await #expect(application.row("SELECT count(*) FROM message") == "0")
        await broker.close()
    }

    @Test(
        "It is done though the handler's task was cancelled: what was sent has been sent",
        arguments: Kind.allCases
    )
    func cancelled(_ kind: Kind) async throws {
        let application = try Application(kind)
        let broker = try await application.broker()
        try broker.route("*", Note.self) { note, attempt in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await attempt.success(in: application.database) { db in
                _ = try application.insert(note.text, db)
            }
        }
        try await running(broker) {
            try await broker.enqueue(Note("a"))
            try await until { broker.statistics.succeeded == 1 }
        }
        try await #expect(application.rows("SELECT text FROM message") == ["a"])
        await broker.close()
    }

    @Test("In a transaction of its own a handler settles with what else it writes", arguments: Kind.allCases)
    func succeed(_ kind: Kind) async throws {
        let application = try Application(kind)
        let broker = try await application.broker()
        try broker.route("*", Note.self) { note, attempt in
            try await application.database.write { db in
                _ = try application.insert(note.text, db)
                try attempt.succeed(in: db)
            }
            return .success
        }
        try await running(broker) {
            try await broker.enqueue([Note("a"), Note("b")])
            try await until { broker.statistics.succeeded == 2 }
        }
        try await #expect(application.rows("SELECT text FROM message ORDER BY id") == ["a", "b"])
        await broker.close()
    }

    /// Has what has a message's tag go with it.
    private func makeTrigger(_ application: Application) async throws {
        try await application.database.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER messageDeleted AFTER DELETE ON message BEGIN
                        DELETE FROM sluice_actions WHERE tag = 'message-' || OLD.id;
                        DELETE FROM sluice_dead WHERE tag = 'message-' || OLD.id;
                    END
                    """
            )
        }
    }

    @Test("The row that an action goes with may be deleted by its settling", arguments: Kind.allCases)
    func deletesItsRow(_ kind: Kind) async throws {
        let application = try Application(kind)
        let broker = try await application.broker()
        try await makeTrigger(application)
        try broker.route("*", Note.self) { _, attempt in
            try await attempt.success(in: application.database) { _ = try Message.deleteAll($0) }
        }
        try await application.database.write { db in
            let message = try application.insert("a", db)
            let tag = "message-\(try #require(message.id))"
            try broker.enqueue(Note("a"), EnqueueOptions(tag: tag), in: db)
        }
        try await running(broker) { try await until { broker.statistics.succeeded == 1 } }
        try await #expect(application.row("SELECT count(*) FROM message") == "0")
        await broker.close()
    }

    @Test("By a trigger, actions go with the rows whose tags they have", arguments: Kind.allCases)
    func goesWithRow(_ kind: Kind) async throws {
        let application = try Application(kind)
        let broker = try await application.broker()
        try await makeTrigger(application)
        let message = try await application.database.write { db in
            let message = try application.insert("a", db)
            let tag = "message-\(try #require(message.id))"
            try broker.enqueue(Note("a"), EnqueueOptions(tag: tag), in: db)
            try broker.enqueue(Note("b"), in: db)
            return message
        }
        _ = try await application.database.write { try message.delete($0) }
        try await #expect(application.rows("SELECT payload ->> 'text' FROM sluice_actions") == ["b"])
        await broker.close()
    }
}
#endif
