internal import Foundation
internal import GRDB

/// A chat message, with the fields that the sample data has.
struct Message: Codable, Sendable {
    var conversation: String
    var sentAt: String
    var sender: String
    var text: String
}

/// A row of the table, as GRDB's documentation would have one write it: the payload becomes a JSON column.
struct Job: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "job"

    var id: Int64?
    var queue: String
    var payload: Message

    mutating func didInsert(_ inserted: InsertionSuccess) {
        id = inserted.rowID
    }
}

/// The queue of an afternoon: one table, oldest row first, and a row goes when its handler has returned.
///
/// It has one worker in one process, and neither attempts, delays nor anything for a row that never succeeds.
struct JobQueue {
    let database: DatabasePool

    /// - Parameter isFull: Whether each commit is synced. A `DatabasePool` as it comes does not.
    init(path: String, isFull: Bool) throws {
        database = try DatabasePool(path: path)
        // Not in its configuration: a pool sets its level after that was applied.
        if isFull {
            try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        }
        var migrator = DatabaseMigrator()
        migrator.registerMigration("jobs") { database in
            try database.create(table: "job") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("queue", .text).notNull()
                table.column("payload", .text).notNull()
            }
            try database.create(index: "job_order", on: "job", columns: ["queue", "id"])
        }
        try migrator.migrate(database)
    }

    func enqueue(_ message: Message, in queue: String) async throws {
        try await database.write { database in
            var job = Job(queue: queue, payload: message)
            try job.insert(database)
        }
    }

    func enqueue(_ messages: [(queue: String, message: Message)]) async throws {
        try await database.write { database in
            for (queue, message) in messages {
                var job = Job(queue: queue, payload: message)
                try job.insert(database)
            }
        }
    }

    /// Runs the oldest job; false when there is none.
    func runNext(in queue: String, handler: (Message) async throws -> Void) async throws -> Bool {
        let next = try await database.read { database in
            try Job.filter(Column("queue") == queue).order(Column("id")).limit(1).fetchOne(database)
        }
        guard let next else { return false }
        try await handler(next.payload)
        _ = try await database.write { try next.delete($0) }
        return true
    }
}
