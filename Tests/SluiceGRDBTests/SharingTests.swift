#if GRDB
import GRDB
import Sluice
import SluiceGRDB
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@Suite("A broker in GRDB's database", .watched)
struct SharingTests {
    @Test(
        "G1: nothing speaks against a writer that was prepared, and its commits are synced",
        arguments: Kind.allCases
    )
    func findings(_ kind: Kind) async throws {
        let application = try Application(kind)
        let broker = try await application.broker()
        let findings = try await application.database.writeWithoutTransaction {
            try #require(broker.file).diagnose($0)
        }
        #expect(findings == [])
        try await #expect(Self.settings(of: application) == ["wal", "2", "1", "0", "60000"])
        await broker.close()
    }

    @Test("A writer whose settings are kept is left alone, and told of")
    func kept() async throws {
        let application = try Application(.pool)
        let before = try await Self.settings(of: application)
        let broker = try await Broker(sharing: application.database, keepsSettings: true)
        let findings = try await application.database.writeWithoutTransaction {
            try #require(broker.file).diagnose($0)
        }
        let after = try await Self.settings(of: application)
        #expect(findings.contains { $0.code == .synchronousBelowFull })
        #expect(before == after && after == ["wal", "1", "0", "1000", "60000"])
        // What holds then: durable when this has returned.
        try await application.database.write { _ = try broker.enqueue(Note("a"), in: $0) }
        try await broker.file?.flush()
        await broker.close()
    }

    @Test(
        "A database with a rollback journal changes to the log, and goes on being used",
        arguments: [true, false]
    )
    func journal(_ keepsSettings: Bool) async throws {
        let application = try Application(.queue)
        try await #expect(Self.settings(of: application)[0] == "delete")
        let broker = try await Broker(sharing: application.database, keepsSettings: keepsSettings)
        try await application.database.write { db in
            _ = try application.insert("m", db)
            try broker.enqueue(Note("a"), in: db)
        }
        try await #expect(Self.settings(of: application)[0] == "wal")
        try await #expect(application.row("SELECT count(*) FROM sluice_actions") == "1")
        await broker.close()
    }

    @Test("A database without a file, and one for reading only, are refused")
    func refused() async throws {
        for database in try [DatabaseQueue(), DatabaseQueue(named: "shared"), DatabaseQueue(path: "")] {
            let code = await code { _ = try await Broker(sharing: database) }
            #expect(code == .unsupportedDatabase)
        }
        let application = try Application(.pool)
        var configuration = Configuration()
        configuration.readonly = true
        let reader = try DatabasePool(path: application.file.path, configuration: configuration)
        let code = await code { _ = try await Broker(sharing: reader) }
        #expect(code == .readOnly)
        var options = BrokerOptions()
        options.file.role = .readOnly
        let error = await #expect(throws: SluiceError.self) {
            try await Broker(sharing: reader, options: options)
        }
        #expect(error?.message.hasSuffix("use Broker(file:options:) with the role readOnly") == true)
    }

    @Test("A busy handler of the application's is kept, and where there is none writes wait")
    func busy() async throws {
        var configuration = Configuration()
        let calls = Mutex(0)
        configuration.busyMode = .callback { _ in
            calls.withLock { $0 += 1 }
            return false
        }
        let application = try Application(.pool, configuration)
        let broker = try await application.broker()
        let holder = try DatabaseQueue(path: application.file.path)
        try await holder.writeWithoutTransaction { db in
            try db.inTransaction(.immediate) {
                #expect(throws: DatabaseError.self) { try application.database.write { _ in } }
                return .commit
            }
        }
        #expect(calls.withLock { $0 } == 1)
        await broker.close()

        let impatient = try Application(.pool, Configuration())
        let second = try await impatient.broker { $0.file.lockTimeout = .seconds(7) }
        try await #expect(Self.settings(of: impatient).last == "7000")
        await second.close()
    }

    @Test(
        "GRDB's observers and authorizer go on working behind an enqueue and a settling",
        arguments: Kind.allCases
    )
    func observers(_ kind: Kind) async throws {
        let application = try Application(kind)
        let broker = try await application.broker()
        let observer = CommitCounter()
        application.database.add(transactionObserver: observer, extent: .databaseLifetime)
        try broker.route("*", Note.self) { note, attempt in
            try await attempt.success(in: application.database) { _ = try application.insert(note.text, $0) }
        }
        try await application.database.write { db in
            _ = try application.insert("first", db)
            try broker.enqueue(Note("second"), in: db)
            _ = try application.insert("third", db)
        }
        try await running(broker) { try await until { broker.statistics.succeeded == 1 } }
        _ = try await application.database.write { try Message.deleteAll($0) }
        #expect(observer.changes.withLock { $0 } == 6)
        #expect(observer.commits.withLock { $0 } == 3)
        await broker.close()
    }

    @Test("A configuration that was prepared gives a file that gives its space back, and writes that wait")
    func configuration() async throws {
        var configuration = Configuration()
        configuration.prepareForSluice()
        let application = try Application(.pool, configuration)
        let broker = try await application.broker()
        let answers = try await application.database.writeWithoutTransaction { db in
            try ["auto_vacuum", "busy_timeout", "wal_autocheckpoint"].map {
                try Int.fetchOne(db, sql: "PRAGMA \($0)")
            }
        }
        #expect(answers == [2, 10_000, 0])
        await broker.close()
    }

    private static func settings(of application: Application) async throws -> [String] {
        let names = ["journal_mode", "synchronous", "fullfsync", "wal_autocheckpoint", "busy_timeout"]
        return try await application.database.writeWithoutTransaction { db in
            try names.map { try String.fetchOne(db, sql: "PRAGMA \($0)") ?? "" }
        }
    }
}

/// Counts what GRDB tells of the application's table.
private final class CommitCounter: TransactionObserver, Sendable {
    let changes = Mutex(0)
    let commits = Mutex(0)
    private let hasChanged = Mutex(false)

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { kind.tableName == "message" }

    func databaseDidChange(with event: DatabaseEvent) {
        changes.withLock { $0 += 1 }
        hasChanged.withLock { $0 = true }
    }

    func databaseDidCommit(_ db: Database) {
        let isOurs = hasChanged.withLock { value in
            defer { value = false }
            return value
        }
        if isOurs { commits.withLock { $0 += 1 } }
    }

    func databaseDidRollback(_ db: Database) {}
}
#endif
