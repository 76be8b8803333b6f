import CSluiceSQLite
import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What the application's transaction is refused", .watched)
struct EnqueueInRefusalTests {
    @Test(
        "A refusal leaves the transaction as it was: what was written before it is stored, and nothing else"
    )
    func refusal() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try application.transaction { connection in
            try application.execute("INSERT INTO messages (text) VALUES ('kept')")
            let mixed = [Note("a", in: "new"), Note("b", in: "new", order: .integer(1))]
            #expect(thrown { try broker.enqueue(mixed, in: connection) }?.code == .sortKeyMismatch)
            #expect(try application.row("SELECT count(*) FROM sluice_queue_rows") == "0")
            #expect(try application.row("SELECT value FROM sluice_counters WHERE name = 'action'") == "0")
        }
        #expect(try application.rows("SELECT text FROM messages") == ["kept"])
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test(
        "In the middle of the rows of a statement that writes it says so, and stores nothing"
    )
    func underWay() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try application.execute("INSERT INTO messages (text) VALUES ('a'), ('b')")
        try application.transaction { connection in
            let update = try application.connection.prepare("UPDATE messages SET sent = 1 RETURNING text")
            let errors = try update.all { _ in thrown { try broker.enqueue(Note("x"), in: connection) } }
            #expect(errors.map { $0?.code } == [.statementUnderWay, .statementUnderWay])
            try broker.enqueue(Note("y"), in: connection)
        }
        try await #expect(broker.actionCount() == 1)
        #expect(try application.row("SELECT sum(sent) FROM messages") == "2")
        await broker.close()
    }

    @Test("G2, G13: it checks what every enqueue checks, with the same errors")
    func checks() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.maximumPayloadByteCount = 100 }
        try broker.configure("full", QueueOptions(maximumDepth: 1))
        try broker.configure("dated", QueueOptions(sortKey: .date))
        let application = try Application(site)
        try await broker.enqueue(Note("there", in: "full"))
        let taken = EnqueueOptions(key: DeduplicationKey("k", policy: .refuse))
        try await broker.enqueue(Note("there", in: "keys"), EnqueueOptions(key: "k"))
        let cases: [(Note, EnqueueOptions, SluiceError.Code)] = [
            (Note("x", in: "full"), EnqueueOptions(), .queueFull),
            (Note("x", in: "dated"), EnqueueOptions(), .sortKeyMismatch),
            (Note("x", in: "full", order: .integer(1)), EnqueueOptions(), .queueFull),
            (Note("x", in: "q", order: .real(.nan)), EnqueueOptions(), .sortKeyNotANumber),
            (Note(String(repeating: "x", count: 100)), EnqueueOptions(), .payloadTooLarge),
            (Note("x", in: ""), EnqueueOptions(), .invalidQueueName),
            (Note("x"), EnqueueOptions(tag: ""), .invalidOptions),
            (Note("x"), EnqueueOptions(gate: ""), .invalidGate),
            (Note("x", in: "keys"), taken, .duplicateKey),
        ]
        try application.transaction { connection in
            for (note, options, code) in cases {
                #expect(thrown { try broker.enqueue(note, options, in: connection) }?.code == code)
                #expect(thrown { try broker.enqueue([note], options, in: connection) }?.code == code)
            }
            let first = try broker.enqueue(Note("x", in: "keys"), EnqueueOptions(key: "k"), in: connection)
            #expect(first.id.rawValue == 2)
            #expect(try broker.enqueue([Note](), in: connection).isEmpty)
        }
        try await #expect(broker.actionCount() == 2)
        await broker.close()
    }

    @Test("Without an open transaction nothing is stored, and the error says what to do")
    func noTransaction() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        let error = thrown { try broker.enqueue(Note("a"), in: application.handle) }
        #expect(error?.code == .noTransaction)
        #expect(error?.message.contains("BEGIN IMMEDIATE first (with GRDB: `write`)") == true)
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("Who waits for a transaction of its own process is told so, and what to call inside it")
    func ownLock() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.lockTimeout = .milliseconds(5) }
        let error = try Application(site).transaction { _ in
            thrown { try broker.enqueueBlocking(Note("a")) }
        }
        #expect(error?.code == .databaseLocked)
        // Elsewhere the system does not tell who holds a lock.
        #if os(Linux)
        #expect(
            error?.message == "beginning a write: a transaction of this process holds the write lock: end it "
                + "first, or inside it call enqueue(_:in:)"
        )
        #endif
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("A connection that is told not to write is refused as one that reads only")
    func queryOnly() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try application.execute("PRAGMA query_only = 1; BEGIN")
        let error = thrown { try broker.enqueue(Note("a"), in: application.handle) }
        #expect(error?.code == .readOnly)
        #expect(error?.message.hasSuffix("use one that writes; with GRDB `write`, not `read`") == true)
        try application.execute("ROLLBACK")
        await broker.close()
    }

    @Test("A connection to another file, to memory, or that has the file attached, is refused")
    func otherDatabase() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let other = try Site()
        let stranger = try Application(other)
        try stranger.execute("ATTACH '\(#require(site.file).path)' AS queues")
        let memory = try Application(":memory:")
        let temporary = try Application("")
        for application in [stranger, memory, temporary] {
            try application.transaction { connection in
                #expect(thrown { try broker.enqueue(Note("a"), in: connection) }?.code == .otherDatabase)
                let findings = try #require(broker.file).diagnose(connection)
                #expect(findings.map(\.code) == [.otherDatabase])
            }
        }
        let reader = try Connection(path: #require(site.file).path, mode: .read)
        try reader.execute("BEGIN")
        #expect(thrown { try broker.enqueue(Note("a"), in: reader.rawHandle) }?.code == .readOnly)
        let inMemory = try await Site(.memory).broker()
        try memory.transaction { connection in
            #expect(thrown { try inMemory.enqueue(Note("a"), in: connection) }?.code == .otherDatabase)
        }
        await inMemory.close()
        await broker.close()
        let late = try Application(site)
        try late.transaction { connection in
            #expect(thrown { try broker.enqueue(Note("a"), in: connection) }?.code == .closed)
        }
    }

    @Test("A connection by another path to the same file is one of the file")
    func otherPath() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let link = try TemporaryFile(name: "link.sqlite")
        let path = try #require(site.file).path
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: path)
        let application = try Application(link.path)
        _ = try application.transaction { try broker.enqueue(Note("a"), in: $0) }
        try await #expect(broker.actionCount() == 1)
        await broker.close()
    }

    @Test("G14: a lock in the way is the typed error that says how to begin, and the transaction goes on")
    func locked() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (application, other) = (try Application(site), try Application(site))
        application.connection.setBusyTimeout(.zero)
        func expectLocked() throws {
            let error = thrown { try broker.enqueue(Note("a"), in: application.handle) }
            #expect(error?.code == .databaseLocked)
            #expect(error?.message.contains("BEGIN IMMEDIATE") == true)
            #expect(application.connection.isInTransaction)
            application.connection.rollback()
        }
        // Another writes.
        try other.execute("BEGIN IMMEDIATE")
        try application.execute("BEGIN")
        try expectLocked()
        other.connection.rollback()
        // Another has written since this one began to read.
        try application.execute("BEGIN")
        #expect(try application.row("SELECT count(*) FROM messages") == "0")
        try other.execute("INSERT INTO messages (text) VALUES ('meanwhile')")
        try expectLocked()
        _ = try application.transaction { try broker.enqueue(Note("a"), in: $0) }
        try await #expect(broker.actionCount() == 1)
        await broker.close()
    }

    @Test("An interrupt of the application's own is told as one, and nothing is stored")
    func interrupted() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try application.execute("BEGIN IMMEDIATE")
        sqlite3_progress_handler(application.handle, 1, { _ in 1 }, nil)
        #expect(thrown { try broker.enqueue(Note("a"), in: application.handle) }?.code == .interrupted)
        sqlite3_progress_handler(application.handle, 0, nil, nil)
        if application.connection.isInTransaction { try application.execute("COMMIT") }
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }
}
