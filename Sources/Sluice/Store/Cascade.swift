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

// MARK: - What the file knows

extension Cascade {
    /// All that the file knows.
    static func all(_ connection: Connection) throws(SQLiteError) -> [Cascade] {
        try connection.prepare(
            "SELECT source_id, table_name, key_column FROM sluice_cascade_rows ORDER BY source_id"
        )
        .all { Cascade(source: $0.int64(0), table: $0.text(1), column: $0.text(2)) }
    }

    /// The one of a table: by its name, or by the triggers that went along when it was renamed.
    static func find(_ table: String, in connection: Connection) throws(SQLiteError) -> Cascade? {
        let (all, name) = (try all(connection), table.lowercased())
        if let named = all.first(where: { $0.table.lowercased() == name }) { return named }
        for cascade in all where try cascade.standsOn(connection)?.lowercased() == name { return cascade }
        return nil
    }

    /// Whether its triggers stand, and the column that it names is there: who rebuilds a table drops those of
    /// the old one, and a column may have another name by now.
    func stands(in connection: Connection) throws(SQLiteError) -> Bool {
        let count = try connection.prepare(
            """
            SELECT count(*) FROM sqlite_schema
            WHERE type = 'trigger' AND name IN (?1, ?2) AND tbl_name = ?3 COLLATE NOCASE
            """
        )
        .bind(1, triggers.gone).bind(2, triggers.rekeyed).bind(3, table).first { $0.int(0) }
        guard count == 2 else { return false }
        return try hasColumn(connection)
    }

    /// The table that its trigger stands on, under the name that this has by now.
    private func standsOn(_ connection: Connection) throws(SQLiteError) -> String? {
        try connection.prepare("SELECT tbl_name FROM sqlite_schema WHERE type = 'trigger' AND name = ?1")
            .bind(1, triggers.gone).first { $0.text(0) }
    }

    private func hasTable(_ connection: Connection) throws(SQLiteError) -> Bool {
        try connection.prepare(
            """
            SELECT 1 FROM pragma_table_list
            WHERE schema = 'main' AND type = 'table' AND name = ?1 COLLATE NOCASE
            """
        )
        .bind(1, table).hasRow()
    }

    private func hasColumn(_ connection: Connection) throws(SQLiteError) -> Bool {
        guard try hasTable(connection) else { return false }
        return try connection.prepare(
            "SELECT 1 FROM pragma_table_info(?1, 'main') WHERE name = ?2 COLLATE NOCASE"
        )
        .bind(1, table).bind(2, column).hasRow()
    }
}

// MARK: - Triggers

extension Cascade {
    /// Makes the triggers, and has go what belongs to rows that went while there were none.
    ///
    /// A key that the table has in another type or case by now is written anew. `+` takes a column's affinity
    /// away: with that of an integer, SQLite would not look the key up in the index.
    func make(in connection: Connection) throws(SQLiteError) {
        let (table, column) = (Self.quoted(table), Self.quoted(column))
        let (gone, rekeyed) = triggers
        try dropTriggers(connection)
        try connection.execute(
            """
            CREATE TRIGGER \(gone) AFTER DELETE ON \(table)
            BEGIN
                UPDATE sluice_link_rows SET is_gone = 1 WHERE source_id = \(source) AND key = +OLD.\(column);
            END;
            -- Not OF the column, which has other names, such as rowid. Without a key, a row has no actions.
            CREATE TRIGGER \(rekeyed) AFTER UPDATE ON \(table)
            WHEN NEW.\(column) IS NOT OLD.\(column) COLLATE BINARY
            BEGIN
                DELETE FROM sluice_link_rows
                WHERE source_id = \(source) AND key = +OLD.\(column) AND NEW.\(column) IS NULL;
                UPDATE sluice_link_rows SET key = NEW.\(column)
                WHERE source_id = \(source) AND key = +OLD.\(column);
            END;
            UPDATE sluice_link_rows SET is_gone = 1
            WHERE source_id = \(source)
              AND NOT EXISTS (SELECT 1 FROM \(table) AS t WHERE t.\(column) = +sluice_link_rows.key);
            UPDATE sluice_link_rows
            SET key = (SELECT t.\(column) FROM \(table) AS t WHERE t.\(column) = +sluice_link_rows.key)
            WHERE source_id = \(source) AND NOT EXISTS (
                SELECT 1 FROM \(table) AS t
                WHERE t.\(column) = +sluice_link_rows.key
                  AND typeof(t.\(column)) = typeof(sluice_link_rows.key)
                  AND t.\(column) IS sluice_link_rows.key COLLATE BINARY);
            """
        )
    }

    private func dropTriggers(_ connection: Connection) throws(SQLiteError) {
        let (gone, rekeyed) = triggers
        try connection.execute("DROP TRIGGER IF EXISTS \(gone); DROP TRIGGER IF EXISTS \(rekeyed)")
    }

    /// Ends it: the actions of its rows go at once, or belong to no row any more.
    func end(removingActions: Bool, in connection: Connection) throws(SQLiteError) {
        try dropTriggers(connection)
        try connection.execute(
            removingActions
                ? "UPDATE sluice_link_rows SET is_gone = 1 WHERE source_id = \(source)"
                : "DELETE FROM sluice_link_rows WHERE source_id = \(source)"
        )
        try connection.execute("DELETE FROM sluice_cascade_rows WHERE source_id = \(source)")
    }
}

// MARK: - At an opening

extension Cascade {
    /// What an opening does about triggers that the application's own migrations have dropped or taken along.
    private enum Repair {
        case make
        case follow(String)
    }

    /// Makes again the triggers that the application's own migrations have dropped.
    ///
    /// Called when the file is opened. What it cannot know it leaves to the next call of the application's,
    /// and its actions as they are (G10): a table that is not there may have been dropped, or copied to
    /// another name. So it does where the schema gets in the way.
    static func repair(_ connection: Connection) throws {
        for cascade in try all(connection) where try cascade.repair(connection) != nil {
            do {
                try connection.immediate {
                    switch try cascade.repair(connection) {
                    case nil: break
                    case .make: try cascade.make(in: connection)
                    case .follow(let table):
                        try Cascade(source: cascade.source, table: table, column: cascade.column)
                            .name(in: connection)
                    }
                }
            } catch let error as SQLiteError where [.error, .constraint].contains(error.code.primary) {
                continue
            }
        }
    }

    /// - Returns: `nil` when nothing is to be done, or nothing can be known.
    private func repair(_ connection: Connection) throws(SQLiteError) -> Repair? {
        if try stands(in: connection) { return nil }
        guard let standsOn = try standsOn(connection) else { return try hasColumn(connection) ? .make : nil }
        if standsOn.lowercased() == table.lowercased() { return try hasColumn(connection) ? .make : nil }
        // Renamed. Where another table has its name by now, its rows may be on their way there.
        guard try !hasTable(connection) else { return nil }
        let isTaken = try Self.all(connection).contains { $0.table.lowercased() == standsOn.lowercased() }
        return isTaken ? nil : .follow(standsOn)
    }

    /// Writes the names that its table and column have by now.
    func name(in connection: Connection) throws(SQLiteError) {
        try connection.prepare(
            "UPDATE sluice_cascade_rows SET table_name = ?2, key_column = ?3 WHERE source_id = ?1"
        )
        .bind(1, source).bind(2, table).bind(3, column).run()
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
        let columns = try connection.prepare("SELECT name, type, pk FROM pragma_table_info(?1, 'main')")
            .bind(1, table).all { (name: $0.text(0), type: $0.text(1), key: $0.int(2)) }
        let keys = columns.filter { $0.key > 0 }
        guard let column else {
            guard keys.count == 1, keys[0].type.uppercased() == "INTEGER" else {
                throw refuse(
                    "the table '\(table)' has no INTEGER PRIMARY KEY: name the column that tells its rows"
                )
            }
            return (table, keys[0].name)
        }
        guard let found = columns.first(where: { $0.name.lowercased() == column.lowercased() })?.name else {
            throw refuse("the table '\(table)' has no column '\(column)'")
        }
        let isKey = keys.count == 1 && keys[0].name == found
        guard try isKey || isUnique(found, of: table, connection) else {
            throw refuse(
                "rows of '\(table)' may have the same '\(found)': it is not the primary key, and has no "
                    + "UNIQUE index of its own over all rows"
            )
        }
        return (table, found)
    }

    /// Whether an index over all rows, and over this column alone, lets no two of them have the same value.
    private static func isUnique(
        _ column: String,
        of table: String,
        _ connection: Connection
    ) throws(SQLiteError) -> Bool {
        try connection.prepare(
            """
            SELECT 1 FROM pragma_index_list(?1, 'main') AS list
            WHERE list."unique" AND NOT list.partial
              AND (SELECT group_concat(coalesce(name, '')) FROM pragma_index_info(list.name, 'main')) = ?2
              AND (SELECT count(*) FROM pragma_index_info(list.name, 'main')) = 1
            """
        )
        .bind(1, table).bind(2, column).hasRow()
    }
}
