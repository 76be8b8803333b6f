#if GRDB
public import GRDB
public import Sluice

/// Actions that belong to a record, and go when its row goes.
extension RowReference {
    /// Names the row of a record.
    ///
    /// ```swift
    /// try broker.enqueue(send, EnqueueOptions(row: RowReference(message)), in: db)
    /// ```
    public init<Record: TableRecord & Identifiable>(_ record: Record) where Record.ID == Int64 {
        self.init(Record.databaseTableName, record.id)
    }

    /// Names the row of a record whose number SQLite gives.
    ///
    /// - Throws: `SluiceError` with `noSuchRow` while the record has none: insert it first.
    public init<Record: TableRecord & Identifiable>(
        _ record: Record
    ) throws(SluiceError) where Record.ID == Int64? {
        guard let id = record.id else {
            throw SluiceError(
                .noSuchRow,
                "the record of '\(Record.databaseTableName)' has no id yet: insert it first"
            )
        }
        self.init(Record.databaseTableName, id)
    }

    /// Names the row of a record with a text for its key.
    public init<Record: TableRecord & Identifiable>(_ record: Record) where Record.ID == String {
        self.init(Record.databaseTableName, record.id)
    }
}

extension Broker {
    /// Has the rows of a record's table take along, when they go, the actions that were enqueued with a
    /// `RowReference` to them.
    ///
    /// ```swift
    /// try await broker.cascade(from: Message.self)
    /// ```
    ///
    /// - Parameters:
    ///   - type: A record on a table of the broker's file.
    ///   - column: The column that its rows are known by; `nil` is the `INTEGER PRIMARY KEY`. For a record
    ///     whose `id` is text it is the name of that column.
    /// - Throws: `SluiceError` with `invalidOptions` when there is no such table or column.
    public func cascade<Record: TableRecord>(
        from type: Record.Type,
        key column: String? = nil
    ) async throws(SluiceError) {
        try await cascade(from: type.databaseTableName, key: column)
    }
}
#endif
