internal import SluiceSQLite

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

    /// A name as SQL takes it, whatever is in it: also a quotation mark with a combining one behind it, which
    /// Swift has as one character.
    static func quoted(_ name: String) -> String {
        var quoted = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            if scalar == "\"" { quoted.append(scalar) }
            quoted.append(scalar)
        }
        return "\"\(String(quoted))\""
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

    /// The one of a table: by the triggers, which go along when it is renamed, or else by its name.
    static func find(_ table: String, in connection: Connection) throws(SQLiteError) -> Cascade? {
        let (all, name) = (try all(connection), SchemaName(table))
        for cascade in all where try cascade.standsOn(connection).map(SchemaName.init) == name {
            return cascade
        }
        return all.first { SchemaName($0.table) == name }
    }

    /// Those whose tables have gone, and whose names other cascades' tables have by now.
    static func nameless(_ connection: Connection) throws(SQLiteError) -> [Cascade] {
        var gone: [Cascade] = []
        var names: Set<SchemaName> = []
        for cascade in try all(connection) {
            if let table = try cascade.standsOn(connection) {
                names.insert(SchemaName(table))
            } else {
                gone.append(cascade)
            }
        }
        return gone.filter { names.contains(SchemaName($0.table)) }
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
            CREATE TRIGGER main.\(gone) AFTER DELETE ON \(table)
            BEGIN
                UPDATE sluice_link_rows SET is_gone = 1 WHERE source_id = \(source) AND key = +OLD.\(column);
            END;
            -- Not OF the column, which has other names, such as rowid. Without a key, a row has no actions.
            CREATE TRIGGER main.\(rekeyed) AFTER UPDATE ON \(table)
            WHEN NEW.\(column) IS NOT OLD.\(column) COLLATE BINARY
            BEGIN
                DELETE FROM sluice_link_rows
                WHERE source_id = \(source) AND key = +OLD.\(column) AND NEW.\(column) IS NULL;
                UPDATE sluice_link_rows SET key = NEW.\(column)
                WHERE source_id = \(source) AND key = +OLD.\(column);
            END;
            UPDATE sluice_link_rows SET is_gone = 1
            WHERE source_id = \(source)
              AND NOT EXISTS (SELECT 1 FROM main.\(table) AS t WHERE t.\(column) = +sluice_link_rows.key);
            UPDATE sluice_link_rows
            SET key = (SELECT t.\(column) FROM main.\(table) AS t WHERE t.\(column) = +sluice_link_rows.key)
            WHERE source_id = \(source) AND NOT EXISTS (
                SELECT 1 FROM main.\(table) AS t
                WHERE t.\(column) = +sluice_link_rows.key
                  AND typeof(t.\(column)) = typeof(sluice_link_rows.key)
                  AND t.\(column) IS sluice_link_rows.key COLLATE BINARY);
            """
        )
    }

    private func dropTriggers(_ connection: Connection) throws(SQLiteError) {
        let (gone, rekeyed) = triggers
        try connection.execute("DROP TRIGGER IF EXISTS main.\(gone); DROP TRIGGER IF EXISTS main.\(rekeyed)")
    }

    /// Ends it: the actions of its rows go at once, or belong to no row any more.
    func end(removingActions: Bool, in connection: Connection) throws(SQLiteError) {
        try dropTriggers(connection)
        if removingActions {
            try connection.execute("UPDATE sluice_link_rows SET is_gone = 1 WHERE source_id = \(source)")
        }
        try connection.execute(
            """
            DELETE FROM sluice_link_rows WHERE source_id = \(source);
            DELETE FROM sluice_cascade_rows WHERE source_id = \(source);
            """
        )
    }
}

// MARK: - Behind migrations

extension Cascade {
    /// Makes again the triggers that the application's own migrations have dropped, and knows tables by the
    /// names that they have given them.
    ///
    /// Called when the file is opened. What it cannot know it leaves to the next call of the application's,
    /// and its actions as they are (G10): a table that is not there may have been dropped, or copied to
    /// another name, and one that has none of the rows may know them by other keys. So it does where the
    /// schema gets in the way.
    static func repair(_ connection: Connection) throws {
        if try !renamed(connection).isEmpty { try attempt(connection) { try followRenames(connection) } }
        for cascade in try all(connection) where try cascade.lacksTriggers(connection) {
            try attempt(connection) {
                if try cascade.lacksTriggers(connection) { try cascade.make(in: connection) }
            }
        }
    }

    private static func attempt(_ connection: Connection, _ body: () throws -> Void) throws {
        do {
            try connection.immediate(body)
        } catch let error as SQLiteError where [.error, .constraint].contains(error.code.primary) {
            return
        }
    }

    /// Whether its table is there, under its name and with its key column and some of its rows, and has not
    /// both triggers.
    ///
    /// Without an index on the key, to look for each row would take a pass over the table.
    private func lacksTriggers(_ connection: Connection) throws -> Bool {
        guard try !stands(in: connection), try hasColumn(connection) else { return false }
        if let standsOn = try standsOn(connection), SchemaName(standsOn) != SchemaName(table) { return false }
        if try Self.nameless(connection).contains(where: { $0.source == source }) { return false }
        return try isUnique(connection) && !hasLostAll(connection)
    }

    /// Whether its column tells the rows apart: a rebuild may have left its index out.
    private func isUnique(_ connection: Connection) throws -> Bool {
        do {
            _ = try Self.resolve(table, column, in: connection)
            return true
        } catch is SluiceError {
            return false
        } catch let error as SQLiteError where error.code.primary == .error {
            // Such as a collation that this program does not have.
            return false
        }
    }

    /// Whether actions belong to rows of its table, and not one of these is there, or none can be looked for.
    private func hasLostAll(_ connection: Connection) throws(SQLiteError) -> Bool {
        let (table, column) = (Self.quoted(table), Self.quoted(column))
        do {
            return try connection.prepare(
                """
                SELECT EXISTS (SELECT 1 FROM sluice_link_rows WHERE source_id = ?1)
                   AND NOT EXISTS (
                       SELECT 1 FROM sluice_link_rows AS l
                       WHERE l.source_id = ?1
                         AND EXISTS (SELECT 1 FROM main.\(table) AS t WHERE t.\(column) = +l.key))
                """
            )
            .bind(1, source).first { $0.bool(0) } ?? false
        } catch  where error.code.primary == .error {
            // Such as a collation that this program does not have.
            return true
        }
    }

    /// Writes down under which names the tables stand that were renamed, and took their triggers along.
    ///
    /// - Parameter claimed: A table that is now one of its own, if the one that had its name was renamed.
    static func followRenames(_ connection: Connection, claimed: String? = nil) throws(SQLiteError) {
        let renamed = try renamed(connection, claimed: claimed)
        // They may have taken each other's.
        for (cascade, _) in renamed {
            try Cascade(source: cascade.source, table: "sluice_\(cascade.source)", column: cascade.column)
                .name(in: connection)
        }
        for (cascade, table) in renamed {
            try Cascade(source: cascade.source, table: table, column: cascade.column).name(in: connection)
        }
    }

    /// Those whose tables have other names by now, and these.
    ///
    /// The triggers tell, if no table has the name of old, or one that another cascade stands on. Where it
    /// has and none does, the rows may be on their way there.
    private static func renamed(
        _ connection: Connection,
        claimed: String? = nil
    ) throws(SQLiteError) -> [(cascade: Cascade, table: String)] {
        let all = try all(connection)
        var standing: [(cascade: Cascade, table: String)] = []
        for cascade in all {
            guard let table = try cascade.standsOn(connection) else { continue }
            standing.append((cascade, table))
        }
        let taken = Set(standing.map { SchemaName($0.table) }).union(claimed.map { [SchemaName($0)] } ?? [])
        var renamed: [(cascade: Cascade, table: String)] = []
        for (cascade, table) in standing where SchemaName(table) != SchemaName(cascade.table) {
            let isThere = try cascade.hasTable(connection)
            if !isThere || taken.contains(SchemaName(cascade.table)) { renamed.append((cascade, table)) }
        }
        // Not to a name that another one keeps.
        while true {
            let kept = all.filter { one in !renamed.contains { $0.cascade.source == one.source } }
            let names = Set(kept.map { SchemaName($0.table) })
            let free = renamed.filter { !names.contains(SchemaName($0.table)) }
            if free.count == renamed.count { return renamed }
            renamed = free
        }
    }

    /// Whether the same names are written, byte by byte: Swift makes composed and decomposed letters one.
    func hasNames(of other: Cascade) -> Bool {
        table.utf8.elementsEqual(other.table.utf8) && column.utf8.elementsEqual(other.column.utf8)
    }

    /// Writes the names that its table and column have by now.
    func name(in connection: Connection) throws(SQLiteError) {
        try connection.prepare(
            "UPDATE sluice_cascade_rows SET table_name = ?2, key_column = ?3 WHERE source_id = ?1"
        )
        .bind(1, source).bind(2, table).bind(3, column).run()
    }
}
