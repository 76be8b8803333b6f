#if GRDB
import Foundation
import GRDB

/// An application with a GRDB pool on the engine's file: it writes to tables of its own, reads beside that,
/// and checkpoints as pools do, on its commits and at times by itself.
///
/// `PoolWriter FILE LOG NAME SECONDS`; LOG gets a line `NAME NUMBER` for each commit.
@main
struct PoolWriter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let seconds = Double(arguments[4]) else { throw PoolWriterError.usage }
        guard FileManager.default.createFile(atPath: arguments[2], contents: nil),
            let log = FileHandle(forWritingAtPath: arguments[2])
        else { throw PoolWriterError.usage }
        let name = arguments[3]
        let end = ContinuousClock.now + .seconds(seconds)
        var number = 0
        while ContinuousClock.now < end {
            // A few hundred commits to a pool: opening and closing belong to an application's life too.
            let pool = try DatabasePool(path: arguments[1], configuration: configuration)
            for _ in 0..<Int.random(in: 20...400) where ContinuousClock.now < end {
                number += 1
                try await write(name, number, to: pool)
                try log.write(contentsOf: Data("\(name) \(number)\n".utf8))
                try await look(at: pool)
            }
            try pool.close()
        }
    }

    /// A pool's own settings, but for a log that is copied more often than each thousand pages.
    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(60)
        let pages = [10, 100, 1_000].randomElement() ?? 1_000
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA wal_autocheckpoint = \(pages)") }
        return configuration
    }

    private static func write(_ name: String, _ number: Int, to pool: DatabasePool) async throws {
        try await pool.write { db in
            try db.execute(
                sql: "INSERT INTO outside VALUES (?, ?, randomblob(500))",
                arguments: [name, number]
            )
            let first = Int.random(in: 1...2_000)
            try db.execute(
                sql: "UPDATE pages SET filler = randomblob(3000) WHERE id BETWEEN ? AND ?",
                arguments: [first, first + ([0, 3, 60].randomElement() ?? 0)]
            )
        }
    }

    private static func look(at pool: DatabasePool) async throws {
        switch Int.random(in: 0..<100) {
        case 0..<20:
            try await withThrowingTaskGroup(of: Void.self) { group in
                for sql in ["SELECT sum(length(filler)) FROM pages", "SELECT count(*) FROM outside"] {
                    group.addTask { _ = try await pool.read { try Int.fetchOne($0, sql: sql) } }
                }
                try await group.waitForAll()
            }
        case 20..<50: try checkpoint(pool, .passive)
        case 50..<52: try checkpoint(pool, .truncate)
        default: break
        }
    }

    private static func checkpoint(_ pool: DatabasePool, _ kind: Database.CheckpointMode) throws {
        do {
            _ = try pool.writeWithoutTransaction { try $0.checkpoint(kind) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            // Others read, or copy the log: so much of it stays.
        }
    }
}

enum PoolWriterError: Error { case usage }
#else
import Foundation

/// Without the trait there is no pool.
@main
struct PoolWriter {
    static func main() {
        FileHandle.standardError.write(Data("PoolWriter was built without the trait GRDB\n".utf8))
        exit(1)
    }
}
#endif
