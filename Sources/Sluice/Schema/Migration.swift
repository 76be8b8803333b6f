internal import CSluiceMigrations

/// One step of the schema: a file of `Migrations/`, embedded in the library.
package struct Migration: Sendable {
    /// The step's number, counted from 1.
    package let number: Int
    /// The file's name without its extension, for example `0001_tables`.
    package let name: String
    package let sql: String

    package static let all: [Migration] = steps(sluice_migration_count, sluice_migration_at)
    /// The steps of the schema of a fleet: `Migrations/postgres/`.
    package static let postgres: [Migration] = steps(sluice_postgres_count, sluice_postgres_at)

    private static func steps(_ count: UInt, _ file: (UInt) -> sluice_migration) -> [Migration] {
        (0..<count).map { step(Int($0), file($0)) }
    }

    private static func step(_ index: Int, _ file: sluice_migration) -> Migration {
        let sql = UnsafeBufferPointer(start: file.sql, count: Int(file.length))
        let text = String(decoding: sql, as: UTF8.self)
        return Migration(number: index + 1, name: String(cString: file.name), sql: text)
    }
}
