internal import SluiceSQLite

/// Which table and column of the application's an action may belong to.
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
        guard let found = columns.first(where: { SchemaName($0.name) == SchemaName(column) })?.name else {
            throw refuse("the table '\(table)' has no column '\(column)'")
        }
        let isRowID = try keys.count == 1 && keys[0].name == found && !hasKeyIndex(table, connection)
        guard try isRowID || isUnique(found, of: table, connection) else {
            throw refuse(
                "rows of '\(table)' may have the same '\(found)': it is not the primary key, and has no "
                    + "UNIQUE index of its own over all rows and by its own collation"
            )
        }
        return (table, found)
    }

    /// Whether the primary key is an index, and not the rowid by another name.
    private static func hasKeyIndex(
        _ table: String,
        _ connection: Connection
    ) throws(SQLiteError) -> Bool {
        try connection.prepare("SELECT 1 FROM pragma_index_list(?1, 'main') WHERE origin = 'pk'")
            .bind(1, table).hasRow()
    }

    /// Whether an index over all rows, and over this column alone, lets no two of them have the same value.
    ///
    /// The same by the column's own collation, by which rows are looked up. An index with another one may let
    /// in what that calls the same; but none unites less than `BINARY`.
    private static func isUnique(
        _ column: String,
        of table: String,
        _ connection: Connection
    ) throws(SQLiteError) -> Bool {
        let collation = try connection.collation(of: column, in: table)
        return try connection.prepare(
            """
            SELECT 1 FROM pragma_index_list(?1, 'main') AS list
            WHERE list."unique" AND NOT list.partial
              AND (SELECT count(*) FROM pragma_index_info(list.name, 'main')) = 1
              AND EXISTS (SELECT 1 FROM pragma_index_xinfo(list.name, 'main') AS part
                          WHERE part.key AND part.name = ?2
                            AND (?3 = 'BINARY' COLLATE NOCASE OR part.coll = ?3 COLLATE NOCASE))
            """
        )
        .bind(1, table).bind(2, column).bind(3, collation).hasRow()
    }
}
