#if GRDB
import GRDB
import Sluice
import SluiceGRDB
import SluiceTestKit
import TestSupport
import Testing

@Suite("Enqueuing in GRDB's transaction", .watched)
struct EnqueueTests {
    @Test(
        "G11: a row and its action are one commit, and GRDB's word of it starts the action",
        arguments: Kind.allCases
    )
    func commits(_ kind: Kind) async throws {
        let application = try Application(kind)
        let broker = try await application.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
        try await running(broker) {
            await broker.waitUntilIdle()
            for number in 1...5 {
                try await application.database.write { db in
                    _ = try application.insert("\(number)", db)
                    try broker.enqueue(Note("\(number)"), in: db)
                }
            }
            // The clock stands still and nothing watches the log: nobody else tells.
            try await #expect(log.wait(forCount: 5) == (1...5).map(String.init))
        }
        #expect(application.clock.uptime == .zero)
        let texts = try await application.rows("SELECT text FROM message ORDER BY id")
        #expect(texts == (1...5).map(String.init))
        await broker.close()
    }

    @Test(
        "A rollback leaves neither row nor action, and that of a savepoint what was before it",
        arguments: Kind.allCases
    )
    func rollback(_ kind: Kind) async throws {
        let application = try Application(kind)
        let broker = try await application.broker()
        await #expect(throws: Refusal.self) {
            try await application.database.write { db in
                _ = try application.insert("lost", db)
                try broker.enqueue(Note("lost"), in: db)
                throw Refusal()
            }
        }
        try await #expect(application.row("SELECT count(*) FROM message") == "0")
        try await #expect(application.row("SELECT count(*) FROM sluice_actions") == "0")

        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
        try await running(broker) {
            await broker.waitUntilIdle()
            try await application.database.write { db in
                try broker.enqueue(Note("before"), in: db)
                try db.inSavepoint {
                    try broker.enqueue(Note("undone"), in: db)
                    return .rollback
                }
                try broker.enqueue([Note("after"), Note("last")], in: db)
            }
            try await #expect(log.wait(forCount: 3) == ["before", "after", "last"])
        }
        await broker.close()
    }

    @Test("Several and all options go the same way")
    func forms() async throws {
        let application = try Application(.pool)
        let broker = try await application.broker()
        let (one, several) = try await application.database.write { db in
            let message = try application.insert("m", db)
            let one = try broker.enqueue(Note("a"), EnqueueOptions(tag: "t", key: "k"), in: db).id
            let several = try broker.enqueue([Note("b"), Note("c")], in: db)
            // The application's own statements see what they saw before.
            #expect(db.lastInsertedRowID == message.id)
            return (one, several)
        }
        #expect([one] + several == [1, 2, 3].map { ActionID(rawValue: $0) })
        let each = try await application.database.write { db in
            try broker.enqueue([Note("e"), Note("f")], in: db) { EnqueueOptions(tag: $0.text) }
        }
        #expect(each == [4, 5].map { ActionID(rawValue: $0) })
        await #expect(throws: Refusal.self) {
            try await application.database.write { db in
                try broker.enqueue([Note("g")], in: db) { _ in throw Refusal() }
            }
        }
        try await #expect(
            application.rows("SELECT kind || coalesce(tag, '') FROM sluice_actions ORDER BY id")
                == ["notet", "note", "note", "notee", "notef"]
        )
        await broker.close()
    }

    @Test("It is refused without a transaction, on a reader, and in another database")
    func refused() async throws {
        let application = try Application(.pool)
        let broker = try await application.broker()
        let other = try Application(.pool)
        let noTransaction = await code {
            try await application.database.writeWithoutTransaction {
                _ = try broker.enqueue(Note("a"), in: $0)
            }
        }
        #expect(noTransaction == .noTransaction)
        let reader = await code {
            try await application.database.read { _ = try broker.enqueue(Note("a"), in: $0) }
        }
        #expect(reader == .readOnly)
        // `read` of a queue is on the connection that writes.
        let queue = try Application(.queue)
        let readBroker = try await queue.broker()
        let refused = await #expect(throws: SluiceError.self) {
            try await queue.database.read { _ = try readBroker.enqueue(Note("a"), in: $0) }
        }
        #expect(refused?.code == .readOnly)
        #expect(refused?.message.contains("with GRDB `write`, not `read`") == true)
        await readBroker.close()
        let elsewhere = await code {
            try await other.database.write { _ = try broker.enqueue(Note("a"), in: $0) }
        }
        #expect(elsewhere == .otherDatabase)
        // Nothing to store is no error anywhere.
        for kind in Kind.allCases {
            let reading = try Application(kind)
            let broker = try await reading.broker()
            #expect(try await reading.database.read { try broker.enqueue([Note](), in: $0) } == [])
            await broker.close()
        }
        try await #expect(application.row("SELECT count(*) FROM sluice_actions") == "0")
        await broker.close()
    }

    @Test("A refusal leaves the rest of the transaction to its owner")
    func refusal() async throws {
        let application = try Application(.queue)
        let broker = try await application.broker()
        try broker.configure("notes", QueueOptions(maximumDepth: 1))
        try await application.database.write { db in
            try broker.enqueue(Note("a"), in: db)
            #expect(throws: SluiceError.self) { try broker.enqueue(Note("b"), in: db) }
            _ = try application.insert("kept", db)
        }
        try await #expect(application.rows("SELECT text FROM message") == ["kept"])
        try await #expect(application.row("SELECT count(*) FROM sluice_actions") == "1")
        await broker.close()
    }
}
#endif
