#if GRDB && os(Linux)
import Foundation
import GRDB
import Sluice
import SluiceGRDB
import SluiceTestKit
import TestSupport
import Testing

/// GRDB's databases are suspended by a notification to all of a process, of which only these observe it: one
/// after the other, so that none is resumed for another.
@Suite("A suspended broker in a suspended GRDB database", .serialized, .watched)
struct SuspendingTests {
    @Test(
        "No transaction is open and no lock keeps others out, and what waited goes on",
        arguments: Kind.allCases
    )
    func suspended(_ kind: Kind) async throws {
        var configuration = Configuration.test
        configuration.observesSuspensionNotifications = true
        let application = try Application(kind, configuration)
        let path = application.file.path
        let broker = try await application.broker()
        let done = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            done.append(note.text)
            return .success
        }
        try await running(broker) {
            try await application.database.write { _ = try broker.enqueue(Note("before"), in: $0) }
            _ = try await done.wait(forCount: 1)
            await broker.file?.suspend()
            NotificationCenter.default.post(name: Database.suspendNotification, object: nil)
            // Those of idle connections, on SQLite's shared bytes: they keep nobody from reading or writing.
            #expect(try heldLocks(on: path).sorted() == ["READ 1073741826 1073742335", "READ 128 128"])
            await #expect(throws: DatabaseError.self) {
                try await application.database.write { _ = try broker.enqueue(Note("meanwhile"), in: $0) }
            }
            try writeFromOutside(path)
            #expect(try heldLocks(on: path).filter { $0.hasPrefix("WRITE") } == [])

            NotificationCenter.default.post(name: Database.resumeNotification, object: nil)
            try await broker.file?.resume()
            try await application.database.write { _ = try broker.enqueue(Note("behind"), in: $0) }
            #expect(try await done.wait(forCount: 3) == ["before", "outside", "behind"])
        }
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    /// What another process may do meanwhile: it waits for nothing.
    private func writeFromOutside(_ path: String) throws {
        let other = try DatabaseQueue(path: path)
        try other.inDatabase { db in
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
            try db.execute(
                sql: """
                    INSERT INTO sluice_actions (queue, kind, payload)
                    VALUES ('notes', 'note', '{"text":"outside","lane":"notes"}')
                    """
            )
        }
        try other.close()
    }
}
#endif
