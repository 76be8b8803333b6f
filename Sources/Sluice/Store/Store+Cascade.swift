internal import SluiceSQLite

/// Actions that belong to rows of the application's, and go with them.
extension Store {
    /// Has the rows of a table take their actions along when they go.
    package func cascade(from table: String, key column: String?) async throws(SluiceError) {
        try await write(sync: .owed) { try $0.cascade(from: table, key: column) }
    }

    /// Has the rows of a table take nothing along any more.
    package func endCascade(from table: String, removingActions: Bool) async throws(SluiceError) {
        try await write(sync: .owed) { try $0.endCascade(from: table, removingActions: removingActions) }
    }
}

/// What is known of links between two commits of others.
struct LinkMemory {
    /// Whether the file has any; `nil` until it is asked.
    var hasLinks: Bool?
    /// By the table's name; `nil` until they are read.
    fileprivate var cascades: [SchemaName: Cascade]?
    /// Statements that look for a row, by the source.
    fileprivate var lookUps: [Int64: Statement] = [:]
}

extension WriteTransaction {
    func cascade(from name: String, key column: String?) throws {
        let (table, column) = try Cascade.resolve(name, column, in: connection)
        // Their actions stay. Their names are in the way of those whose tables have them by now.
        for gone in try Cascade.nameless(connection) {
            try gone.end(removingActions: false, in: connection)
        }
        try Cascade.followRenames(connection, claimed: table)
        let cascade: Cascade
        let known = try Cascade.find(table, in: connection)
        if let known {
            cascade = Cascade(source: known.source, table: table, column: column)
            try keepKey(of: known, as: cascade)
            if !known.hasNames(of: cascade) { try cascade.name(in: connection) }
        } else {
            try connection.prepare("INSERT INTO sluice_cascade_rows (table_name, key_column) VALUES (?1, ?2)")
                .bind(1, table).bind(2, column).run()
            cascade = Cascade(source: connection.lastInsertedRowID, table: table, column: column)
        }
        // A migration that has ended one may have left triggers of this number, with another column.
        if try known == nil || !cascade.stands(in: connection) {
            try cascade.make(in: connection)
            try takeInChanges(isOfTransaction: true)
        }
        links = LinkMemory()
    }

    /// Of two with that name, that of the table which has gone: the name of the other is not written yet.
    func endCascade(from table: String, removingActions: Bool) throws(SQLiteError) {
        let nameless = try Cascade.nameless(connection)
        if let gone = nameless.first(where: { SchemaName($0.table) == SchemaName(table) }) {
            try gone.end(removingActions: removingActions, in: connection)
            try Cascade.followRenames(connection)
        } else {
            try Cascade.followRenames(connection)
            guard let cascade = try Cascade.find(table, in: connection) else { return }
            try cascade.end(removingActions: removingActions, in: connection)
        }
        try takeInChanges(isOfTransaction: true)
        links = LinkMemory()
    }

    /// Another column is another meaning of the keys that stand in the file, unless it is the old one under a
    /// new name.
    private func keepKey(of known: Cascade, as cascade: Cascade) throws {
        guard SchemaName(known.column) != SchemaName(cascade.column) else { return }
        let isRenamed = try connection.prepare(
            """
            SELECT NOT EXISTS (SELECT 1 FROM pragma_table_info(?1, 'main') WHERE name = ?2 COLLATE NOCASE)
            """
        )
        .bind(1, cascade.table).bind(2, known.column).first { $0.bool(0) }
        guard isRenamed == true else {
            throw SluiceError(
                .invalidOptions,
                "the rows of '\(cascade.table)' are known by '\(known.column)' already: "
                    + "call endCascade(from:) first"
            )
        }
    }

    /// Why an action cannot belong to a row; `nil` when it can.
    func refusal(of row: RowReference) throws -> SluiceError? {
        do {
            _ = try find(row)
            return nil
        } catch let refusal as SluiceError {
            return refusal
        }
    }

    /// Has an action belong to a row, and to no other.
    func link(_ action: ActionID, to row: RowReference) throws {
        let (source, key) = try find(row)
        try connection.cached(
            """
            INSERT INTO sluice_link_rows (action_id, source_id, key) VALUES (?1, ?2, ?3)
            ON CONFLICT (action_id) DO UPDATE SET source_id = excluded.source_id, key = excluded.key
            """
        )
        .bind(1, action.rawValue).bind(2, source).bind(3, key).run()
        links.hasLinks = true
    }

    /// Has an action belong to no row.
    func unlink(_ action: ActionID) throws(SQLiteError) {
        guard try hasAnyLinks() else { return }
        try connection.cached("DELETE FROM sluice_link_rows WHERE action_id = ?1").bind(1, action.rawValue)
            .run()
    }

    /// An action has another number by now.
    func relink(_ action: ActionID, as newAction: ActionID) throws(SQLiteError) {
        guard try hasAnyLinks() else { return }
        try connection.cached("UPDATE sluice_link_rows SET action_id = ?2 WHERE action_id = ?1")
            .bind(1, action.rawValue).bind(2, newAction.rawValue).run()
    }

    /// Whether any action belongs to a row.
    ///
    /// In most files none does, and nothing is paid for it.
    private func hasAnyLinks() throws(SQLiteError) -> Bool {
        if let hasLinks = links.hasLinks { return hasLinks }
        let found = try connection.cached("SELECT 1 FROM sluice_link_rows LIMIT 1").hasRow()
        links.hasLinks = found
        return found
    }

    /// The row's table, and its key as it stands there: its type counts when the row goes.
    private func find(_ row: RowReference) throws -> (source: Int64, key: Value) {
        guard let cascade = try cascades()[SchemaName(row.table)] else {
            throw SluiceError(
                .noCascade,
                "no action can belong to a row of '\(row.table)' yet: call broker.cascade(from:) for it "
                    + "first, and again when the table has been rebuilt"
            )
        }
        let lookUp = try lookUp(of: cascade)
        switch row.key {
        case .integer(let integer): try lookUp.bind(1, integer)
        case .text(let text): try lookUp.bind(1, text)
        case .blob(let bytes): try lookUp.bind(1, .blob(bytes))
        }
        guard let key = try lookUp.first({ $0.value(0) }) else {
            // Its key belongs to the application, as a payload does.
            throw SluiceError(.noSuchRow, "'\(row.table)' has no row of this key: insert the row first")
        }
        return (cascade.source, key)
    }

    private func lookUp(of cascade: Cascade) throws(SQLiteError) -> Statement {
        if let statement = links.lookUps[cascade.source] { return statement }
        let (table, column) = (Cascade.quoted(cascade.table), Cascade.quoted(cascade.column))
        // The application's connection may have a temporary table of this name.
        let statement = try connection.prepare(
            "SELECT \(column) FROM main.\(table) WHERE \(column) = ?1 LIMIT 1"
        )
        links.lookUps[cascade.source] = statement
        return statement
    }

    private func cascades() throws(SQLiteError) -> [SchemaName: Cascade] {
        if let cascades = links.cascades { return cascades }
        var cascades: [SchemaName: Cascade] = [:]
        for cascade in try Cascade.all(connection) where try cascade.stands(in: connection) {
            cascades[SchemaName(cascade.table)] = cascade
        }
        links.cascades = cascades
        return cascades
    }
}
