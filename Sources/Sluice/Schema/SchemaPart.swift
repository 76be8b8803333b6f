internal import SluiceSQLite

/// A table, view, index or trigger with the engine's name, or on a table with one.
struct SchemaPart: Hashable {
    private let type: String
    private let name: String
    /// The table or view that it belongs to.
    private let table: String
    private let sql: String

    /// Returns parts that the library has not created, and its own that are missing or different.
    ///
    /// A planted trigger runs in the engine's own transactions, and a replaced view shows anything.
    static func strangers(in connection: Connection) throws -> [String] {
        let expected = try ofLibrary()
        let actual = try all(connection)
        let strange = actual.filter { !expected.contains($0) && $0.counts }
        let missing = expected.filter { part in !actual.contains { $0.isNamed(as: part) } }
        return (strange.map { "\($0.type) \($0.name)" } + missing.map { "\($0.type) \($0.name) (missing)" })
            .sorted()
    }

    private func isNamed(as other: SchemaPart) -> Bool { type == other.type && name == other.name }
    /// Whether it is checked: an index of the application on the engine's tables is not.
    private var counts: Bool { (type == "trigger" ? table : name).lowercased().hasPrefix("sluice_") }

    private static func ofLibrary() throws -> Set<SchemaPart> {
        let connection = try Connection(path: ":memory:", mode: .create)
        defer { connection.close() }
        try Migrator().migrate(connection, now: Timestamp(microseconds: 0))
        return try all(connection)
    }

    private static func all(_ connection: Connection) throws -> Set<SchemaPart> {
        let parts = try connection.prepare(
            "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema "
                + "WHERE name LIKE 'sluice%' OR tbl_name LIKE 'sluice%'"
        )
        .all { SchemaPart(type: $0.text(0), name: $0.text(1), table: $0.text(2), sql: $0.text(3)) }
        return Set(parts)
    }
}
