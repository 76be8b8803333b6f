internal import SQLite

/// A table of the application's whose rows take their actions along when they go.
struct Cascade {
    let source: Int64
    let table: String
    /// The column that its rows are known by.
    let column: String

    /// Fired by a row that goes, and by one whose key changes.
    private var triggers: (gone: String, rekeyed: String) {
        ("sluice_cascade_\(source)", "sluice_rekey_\(source)")
    }

    /// A name as SQL takes it, whatever is in it.
    static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}

// MARK: - Triggers

extension Cascade {
    /// All that the file knows.
    static func all(_ connection: Connection) throws(SQLiteError) -> [Cascade] {
        try connection.prepare(
            "SELECT source_id, table_name, key_column FROM sluice_cascade_rows ORDER BY source_id"
        )
        .all { Cascade(source: $0.int64(0), table: $0.text(1), column: $0.text(2)) }
    }

    /// Whether its triggers stand: who rebuilds a table drops those of the old one.
    func stands(in connection: Connection) throws(SQLiteError) -> Bool {
        let count = try connection.prepare(
            """
            SELECT count(*) FROM sqlite_schema
            WHERE type = 'trigger' AND name IN (?1, ?2) AND tbl_name = ?3 COLLATE NOCASE
            """
        )
        .bind(1, triggers.gone).bind(2, triggers.rekeyed).bind(3, table).first { $0.int(0) }
        return count == 2
    }

    /// Makes the triggers, and has go what belongs to rows that went while there were none.
    ///
    /// A table that is not there has no rows.
    func make(in connection: Connection) throws(SQLiteError) {
        let (table, column) = (Self.quoted(table), Self.quoted(column))
        let (gone, rekeyed) = triggers
        try connection.execute("DROP TRIGGER IF EXISTS \(gone); DROP TRIGGER IF EXISTS \(rekeyed)")
        guard try hasColumn(connection) else {
            return try connection.execute(
                "UPDATE sluice_link_rows SET is_gone = 1 WHERE source_id = \(source)"
            )
        }
        try connection.execute(
            """
            CREATE TRIGGER \(gone) AFTER DELETE ON \(table)
            BEGIN
                UPDATE sluice_link_rows SET is_gone = 1 WHERE source_id = \(source) AND key = OLD.\(column);
            END;
            CREATE TRIGGER \(rekeyed) AFTER UPDATE OF \(column) ON \(table)
            WHEN NEW.\(column) IS NOT OLD.\(column) AND NEW.\(column) IS NOT NULL
            BEGIN
                UPDATE sluice_link_rows SET key = NEW.\(column)
                WHERE source_id = \(source) AND key = OLD.\(column);
            END;
            UPDATE sluice_link_rows SET is_gone = 1
            WHERE source_id = \(source)
              AND NOT EXISTS (SELECT 1 FROM \(table) AS t WHERE t.\(column) = sluice_link_rows.key);
            """
        )
    }

    /// Makes again the triggers that the application's own migrations have dropped.
    ///
    /// Called when the file is opened.
    static func repair(_ connection: Connection) throws {
        for cascade in try all(connection) where try !cascade.stands(in: connection) {
            try connection.immediate { try cascade.repair(connection) }
        }
    }

    private func repair(_ connection: Connection) throws(SQLiteError) {
        let standsOn = try connection.prepare(
            "SELECT tbl_name FROM sqlite_schema WHERE type = 'trigger' AND name = ?1"
        )
        .bind(1, triggers.gone).first { $0.text(0) }
        guard let standsOn, try !hasColumn(connection) else { return try make(in: connection) }
        // The table has another name by now, and its triggers went along.
        try connection.prepare(
            "UPDATE OR IGNORE sluice_cascade_rows SET table_name = ?2 WHERE source_id = ?1"
        )
        .bind(1, source).bind(2, standsOn).run()
    }

    private func hasColumn(_ connection: Connection) throws(SQLiteError) -> Bool {
        try connection.prepare("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2 COLLATE NOCASE")
            .bind(1, table).bind(2, column).hasRow()
    }
}

// MARK: - Making one

extension Cascade {
    /// Finds the table and its key column, by the names that the schema has for them.
    ///
    /// - Parameter column: `nil` is the column that stands for the rowid.
    static func resolve(
        _ name: String,
        _ column: String?,
        in connection: Connection
    ) throws -> (table: String, column: String) {
        func refuse(_ message: String) -> SluiceError { SluiceError(.invalidOptions, message) }
        let table = try connection.prepare(
            """
            SELECT name FROM pragma_table_list
            WHERE schema = 'main' AND type = 'table' AND name = ?1 COLLATE NOCASE
            """
        )
        .bind(1, name).first { $0.text(0) }
        guard let table, !table.lowercased().hasPrefix("sluice_"), !table.hasPrefix("sqlite_") else {
            throw refuse("the database has no table '\(name)' of the application's; make it first")
        }
        let columns = try connection.prepare("SELECT name, type, pk FROM pragma_table_info(?1)")
            .bind(1, table).all { (name: $0.text(0), type: $0.text(1), key: $0.int(2)) }
        guard let column else {
            let keys = columns.filter { $0.key > 0 }
            guard keys.count == 1, keys[0].type.uppercased() == "INTEGER" else {
                throw refuse(
                    "the table '\(table)' has no INTEGER PRIMARY KEY: name the column that tells its rows"
                )
            }
            return (table, keys[0].name)
        }
        guard let found = columns.first(where: { $0.name.lowercased() == column.lowercased() }) else {
            throw refuse("the table '\(table)' has no column '\(column)'")
        }
        return (table, found.name)
    }
}
