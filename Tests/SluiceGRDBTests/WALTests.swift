#if GRDB
import Foundation
import GRDB
import Sluice
import SluiceGRDB
import SluiceTestKit
import TestSupport
import Testing

@Suite("The WAL after commits by GRDB", .watched)
struct WALTests {
    /// The size to which the WAL is truncated.
    private static let limit = 64 * 1_024 * 1_024

    private func walByteCount(_ application: Application) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: application.file.path + "-wal")
        return try #require(attributes[.size] as? Int)
    }

    private func checkpointPages(_ application: Application) async throws -> Int? {
        try await application.database.writeWithoutTransaction { db in
            try Int.fetchOne(db, sql: "PRAGMA wal_autocheckpoint")
        }
    }

    private func commit(_ count: Int, _ application: Application) async throws {
        for _ in 0..<count {
            try await application.database.write { db in
                try db.execute(sql: "INSERT INTO message (text) VALUES (hex(zeroblob(500000)))")
                try db.execute(sql: "DELETE FROM message")
            }
        }
    }

    @Test(
        "G12: the log stays bounded though the broker does not run, and commits nothing itself",
        arguments: [BrokerRole.run, .enqueueOnly]
    )
    func bounded(_ role: BrokerRole) async throws {
        let application = try Application(.pool)
        let broker = try await application.broker { $0.file.role = role }
        while try walByteCount(application) <= Self.limit { try await commit(10, application) }
        try await until {
            application.clock.advance(by: .seconds(1))
            try await commit(1, application)
            return try walByteCount(application) <= Self.limit
        }
        await broker.close()
    }

    @Test("A connection copies the log itself again when its broker has been closed, unless it has another")
    func restored() async throws {
        let application = try Application(.pool)
        for _ in 0..<2 {
            let broker = try await application.broker()
            try await #expect(checkpointPages(application) == 0)
            try await commit(1, application)
            try await #expect(checkpointPages(application) == 0)
            await broker.close()
        }
        try await commit(1, application)
        try await #expect(checkpointPages(application) == 1_000)
        do {
            let dropped = try await application.broker()
            try await #expect(checkpointPages(application) == 0)
            await dropped.close()
        }
        let broker = try await application.broker()
        try await commit(1, application)
        try await #expect(checkpointPages(application) == 0)
        await broker.close()
    }

    @Test("Where sharing is refused, and where the broker only looks, nothing is set")
    func untouched() async throws {
        let application = try Application(.queue)
        let refusals: [((inout BrokerOptions) -> Void, SluiceError.Code)] = [
            ({ $0.file.role = .readOnly }, .schemaMissing), ({ $0.concurrency = 0 }, .invalidOptions),
        ]
        for (change, expected) in refusals {
            let code = await code { _ = try await application.broker(change) }
            #expect(code == expected)
            try await #expect(application.row("PRAGMA journal_mode") == "delete")
            try await #expect(checkpointPages(application) == 1_000)
        }
        try await application.broker().close()
        try await commit(1, application)
        let looking = try await application.broker { $0.file.role = .readOnly }
        try await #expect(checkpointPages(application) == 1_000)
        await looking.close()
    }
}
#endif
