internal import CSluiceMigrations

/// One step of the schema: a file of `Migrations/`, embedded in the library.
package struct Migration: Sendable {
    /// The step's number, counted from 1.
    package let number: Int
    /// The file's name without its extension, for example `0001_tables`.
    package let name: String
    package let sql: String

    package static let all: [Migration] = (0..<Int(sluice_migration_count)).map { index in
        let file = sluice_migration_at(UInt(index))
        let sql = UnsafeBufferPointer(start: file.sql, count: Int(file.length))
        let text = String(decoding: sql, as: UTF8.self)
        return Migration(number: index + 1, name: String(cString: file.name), sql: text)
    }
}
