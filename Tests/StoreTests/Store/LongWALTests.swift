import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// The application's connection has been told to leave the log to the broker, as its documentation asks.
@Suite("A WAL that others make long", .watched) struct LongWALTests {
    private let site: Site
    private let path: String
    private let application: Application

    init() throws {
        site = try Site(.file)
        path = try #require(site.file).path
        application = try Application(site, tables: "PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x)")
    }

    private var isLong: Bool {
        get throws { try #require(DatabaseFile.byteCount(of: path + "-wal")) > DatabaseFile.journalSizeLimit }
    }

    private func commit(_ broker: Broker, enqueues: Bool) throws {
        try application.transaction { connection in
            try application.execute("INSERT INTO t VALUES (zeroblob(1000000)); DELETE FROM t")
            if enqueues { try broker.enqueue(Note("x"), in: connection) }
        }
    }

    /// Commits until the log is too long, and then until it is not.
    private func commitMuch(_ broker: Broker, enqueues: Bool) async throws {
        while try !isLong { try commit(broker, enqueues: enqueues) }
        try await until {
            site.clock.advance(by: .seconds(1))
            try commit(broker, enqueues: enqueues)
            return try !isLong
        }
    }

    @Test("G12: a broker that runs copies it, though no commit is its own")
    func foreignCommits() async throws {
        let broker = try await site.broker { $0.file.watchesWAL = true }
        try await running(broker) { try await commitMuch(broker, enqueues: false) }
        await broker.close()
    }

    @Test(
        "G12: a broker that does not run copies it behind what is enqueued in the application's transactions"
    )
    func enqueueing() async throws {
        let broker = try await site.broker { $0.file.role = .enqueueOnly }
        try await commitMuch(broker, enqueues: true)
        await broker.close()
    }
}
