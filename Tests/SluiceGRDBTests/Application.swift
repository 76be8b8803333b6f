#if GRDB
import Foundation
import GRDB
import Sluice
import SluiceGRDB
import SluiceTestKit

/// How an application holds its database.
enum Kind: String, CaseIterable, Sendable { case queue, pool }

/// An application with a table of its own in a GRDB database.
struct Application: Sendable {
    let file: TemporaryFile
    let clock: ManualClock
    let database: any DatabaseWriter

    init(
        _ kind: Kind,
        clock: ManualClock = ManualClock(),
        _ configuration: Configuration = .test
    ) throws {
        file = try TemporaryFile()
        self.clock = clock
        switch kind {
        case .queue: database = try DatabaseQueue(path: file.path, configuration: configuration)
        case .pool: database = try DatabasePool(path: file.path, configuration: configuration)
        }
        try database.write { db in
            try db.create(table: "message", options: .ifNotExists) { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("text", .text).notNull()
                table.column("sent", .integer).notNull().defaults(to: 0)
            }
        }
    }

    /// Opens a broker in the database, whose clock stands still: it finds nothing by looking at intervals.
    func broker(_ change: (inout BrokerOptions) -> Void = { _ in }) async throws -> Broker {
        var options = BrokerOptions()
        options.clock = clock
        options.file.foreignChangeInterval = .seconds(365 * 86_400)
        options.file.watchesWAL = false
        options.stallThreshold = nil
        change(&options)
        return try await Broker(sharing: database, options: options)
    }

    func insert(_ text: String, _ db: Database) throws -> Message {
        var message = Message(text: text)
        try message.insert(db)
        return message
    }

    /// Leaves nothing in the file that no migration makes.
    func dropTable() async throws {
        try await database.write { try $0.drop(table: "message") }
    }

    /// The first column of each row, as text.
    func rows(_ sql: String) async throws -> [String] {
        try await database.read { db in
            try DatabaseValue.fetchAll(db, sql: sql).map { value in
                switch value.storage {
                case .string(let text): text
                case .int64(let number): String(number)
                default: "\(value)"
                }
            }
        }
    }

    func row(_ sql: String) async throws -> String { try await rows(sql).first ?? "nothing" }
}

extension Configuration {
    static var test: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(60)
        return configuration
    }
}

struct Message: Codable, Identifiable, FetchableRecord, MutablePersistableRecord {
    var id: Int64?
    var text: String
    var sent = 0

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

struct Note: Action {
    static let kind = "note"
    var text: String
    var lane: String
    var queue: QueueName { QueueName(lane) }

    init(_ text: String, in lane: String = "notes") {
        self.text = text
        self.lane = lane
    }
}

/// An error of the application's.
struct Refusal: Error {}

/// Runs a broker while `body` does its work, and stops it.
func running(_ broker: Broker, _ body: () async throws -> Void) async throws {
    let run = Task { try await broker.run() }
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    await broker.stop()
    // A stop that came before the broker ran is not seen by it.
    run.cancel()
    try await run.value
    try result.get()
}

/// Waits for what no event tells of.
func until(_ condition: () async throws -> Bool) async throws {
    while try await !condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}

/// The code of the error that a body throws, if it throws one of ours.
func code(_ body: () async throws -> Void) async -> SluiceError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? SluiceError)?.code
    }
}
#endif
