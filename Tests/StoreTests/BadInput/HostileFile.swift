import Foundation
import SluiceSQLite
import SluiceTestKit

@testable import EngineSupport
@testable import Sluice

/// A value that stands where the engine would never have written it, as SQL.
struct HostileValue: Sendable {
    let name: String
    let sql: String

    static let all: [HostileValue] = [
        HostileValue(name: "NULL", sql: "NULL"),
        HostileValue(name: "0", sql: "0"),
        HostileValue(name: "-1", sql: "-1"),
        HostileValue(name: "the largest integer", sql: "9223372036854775807"),
        HostileValue(name: "the largest integer but one", sql: "9223372036854775806"),
        HostileValue(name: "the smallest integer", sql: "(-9223372036854775807 - 1)"),
        HostileValue(name: "2 to the 32nd", sql: "4294967296"),
        HostileValue(name: "a real", sql: "1.5"),
        HostileValue(name: "infinity", sql: "9e999"),
        HostileValue(name: "minus infinity", sql: "-9e999"),
        HostileValue(name: "empty text", sql: "''"),
        HostileValue(name: "text", sql: "'hostile'"),
        HostileValue(name: "text with NUL", sql: "CAST(x'610062' AS TEXT)"),
        HostileValue(name: "text that is no UTF-8", sql: "CAST(x'fffec328' AS TEXT)"),
        HostileValue(name: "a blob", sql: "x'00ff00ff'"),
        HostileValue(name: "an empty blob", sql: "x''"),
        HostileValue(name: "text of a megabyte", sql: "printf('%.1000000c', 'x')"),
    ]
}

/// A ``FullFile`` whose columns take any value, and keep it under the schema as it is.
struct HostileFile {
    struct Column: CustomStringConvertible {
        let table: String
        let name: String
        /// What tells a row of the table from the others.
        fileprivate let key: String

        var description: String { "\(table).\(name)" }
    }

    let columns: [Column]
    /// The file with a schema that takes anything.
    private let lax: [UInt8]
    /// What puts the schema back.
    private let restoration: String

    init(_ file: FullFile) throws {
        let place = try FullFile.write(file.bytes)
        let connection = try Connection(path: place.path, mode: .write)
        defer { connection.close() }
        let tables = try connection.prepare(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name LIKE 'sluice%' ORDER BY name"
        )
        .all { (name: $0.text(0), sql: $0.text(1)) }
        var columns: [Column] = []
        for (table, _) in tables {
            let found = try connection.prepare("SELECT name, pk FROM pragma_table_info('\(table)')")
                .all { (name: $0.text(0), isKey: $0.bool(1)) }
            let key = found.filter(\.isKey).map(\.name).joined(separator: ", ")
            columns += found.map { Column(table: table, name: $0.name, key: key) }
        }
        self.columns = columns
        try connection.execute(Self.schemaChange(tables.map { ($0.name, Self.lax($0.sql)) }))
        restoration = Self.schemaChange(tables)
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        lax = [UInt8](try Data(contentsOf: URL(fileURLWithPath: place.path)))
    }

    /// What a value was written to.
    struct Target {
        let place: TemporaryFile
        /// Queues whose work the row has a say in.
        let queues: Set<QueueName>
        /// The action that the row is, or names, where the value may have it go: it has another number, is
        /// marked as cancelled, or belongs to a row of the application's that is not there.
        let mayGo: ActionID?
        /// All queues rest on the row: then nothing may start, if an error says so.
        let isOfAll: Bool
    }

    /// A file with the value in a row that chance has chosen; `nil` when SQLite cannot store it there.
    func written(
        _ value: HostileValue,
        to column: Column,
        using random: inout some RandomNumberGenerator
    ) throws -> Target? {
        let place = try FullFile.write(lax)
        let connection = try Connection(path: place.path, mode: .write)
        defer { connection.close() }
        try connection.execute("PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF")
        let rows = try connection.prepare("SELECT count(*) FROM \(column.table)").first { $0.int(0) } ?? 0
        guard rows > 0 else { throw Unexpected(description: "\(column.table) has no row") }
        let number = Int.random(in: 0..<rows, using: &random)
        let row = """
            (\(column.key)) = (SELECT \(column.key) FROM \(column.table)
                                ORDER BY \(column.key) LIMIT 1 OFFSET \(number))
            """
        let (queues, action) = try touched(column, where: row, connection)
        do {
            let update = "UPDATE \(column.table) SET \(column.name) = \(value.sql) WHERE \(row)"
            guard try connection.prepare(update).run() == 1 else {
                throw Unexpected(description: "\(column) was not changed")
            }
        } catch let error as SQLiteError where [.constraint, .mismatch].contains(error.code.primary) {
            return nil
        }
        try connection.execute(restoration)
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let goes = ["id", "is_cancelled"].contains(column.name)
        return Target(
            place: place,
            queues: queues,
            mayGo: goes ? action : nil,
            isOfAll: ["sluice_counters", "sluice_migrations"].contains(column.table)
        )
    }

    /// Tables whose `id` is an action's number.
    private static let tablesOfActions = ["sluice_action_rows", "sluice_dead_rows"]

    /// The queues and the action of a row.
    private func touched(
        _ column: Column,
        where row: String,
        _ connection: Connection
    ) throws -> (Set<QueueName>, ActionID?) {
        switch column.table {
        case "sluice_gate_rows": return (["run/later", "gated/a", "wide/a"], nil)
        case "sluice_hold_rows": return (["held/a"], nil)
        case "sluice_audit_rows": return ([], nil)
        // Whose claim it is depends on who runs.
        case "sluice_runner_rows": return (["suspect/a"], nil)
        default: break
        }
        func number(
            _ names: [String],
            of table: String = column.table,
            where row: String = row
        ) throws -> Int64? {
            guard
                let name = names.first(where: { name in
                    columns.contains { $0.table == table && $0.name == name }
                })
            else { return nil }
            return try connection.prepare("SELECT \(name) FROM \(table) WHERE \(row)")
                .first { $0.optionalInt64(0) } ?? nil
        }
        let action = try number(Self.tablesOfActions.contains(column.table) ? ["id"] : ["action_id"])
        let ofAction = try action.flatMap {
            try number(["queue_id"], of: "sluice_action_rows", where: "id = \($0)")
        }
        let found = try [number(["queue_id"]), ofAction].compactMap { $0 }.compactMap { queue in
            try connection.prepare("SELECT name FROM sluice_queue_rows WHERE queue_id = \(queue)").first {
                $0.text(0)
            }
        }
        return (Set(found.map { QueueName($0) }), action.map(ActionID.init(rawValue:)))
    }

    /// A table of the same form that lets everything in and converts nothing.
    private static func lax(_ sql: String) -> String {
        var sql = sql
        for type in ["INTEGER", "TEXT", "ANY"] {
            sql = sql.replacingOccurrences(of: "\(type) NOT NULL", with: type)
        }
        sql = sql.replacingOccurrences(of: ") STRICT, WITHOUT ROWID", with: ") WITHOUT ROWID")
        sql = sql.replacingOccurrences(of: ") STRICT", with: ")")
        sql = sql.replacingOccurrences(of: "INTEGER PRIMARY KEY", with: "INT_KEY")
        for type in ["INTEGER", "TEXT", "ANY"] {
            sql = sql.replacingOccurrences(of: " \(type)", with: " BLOB")
        }
        return sql.replacingOccurrences(of: "INT_KEY", with: "INTEGER PRIMARY KEY")
    }

    private static func schemaChange(_ tables: [(name: String, sql: String)]) -> String {
        let updates = tables.map { name, sql in
            let text = sql.replacingOccurrences(of: "'", with: "''")
            return "UPDATE sqlite_schema SET sql = '\(text)' WHERE type = 'table' AND name = '\(name)';"
        }
        return "PRAGMA writable_schema = ON; BEGIN; \(updates.joined(separator: "\n")) COMMIT; "
            + "PRAGMA writable_schema = RESET;"
    }
}
