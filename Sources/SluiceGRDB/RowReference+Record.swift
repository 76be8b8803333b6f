#if GRDB
public import GRDB
public import Sluice

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.UUID
#else
public import struct Foundation.UUID
#endif

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

    /// Names the row of a record with a UUID for its key, as GRDB stores one by itself: 16 bytes.
    ///
    /// Where the record stores it as text, by a strategy of its own, name the row by that text.
    public init<Record: TableRecord & Identifiable>(_ record: Record) where Record.ID == UUID {
        self.init(Record.databaseTableName, withUnsafeBytes(of: record.id.uuid) { [UInt8]($0) })
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
    ///     whose `id` is a text or a UUID it is the name of that column.
    /// - Throws: `SluiceError` with `invalidOptions` when there is no such table or column, or two rows may
    ///   have the same value in it.
    public func cascade<Record: TableRecord>(
        from type: Record.Type,
        key column: String? = nil
    ) async throws(SluiceError) {
        try await cascade(from: type.databaseTableName, key: column)
    }

    /// Has the rows of a record's table take along nothing any more.
    ///
    /// - Parameters:
    ///   - type: The record.
    ///   - removingActions: Whether the actions that belong to its rows go. Else they stay and belong to no
    ///     row.
    /// - Throws: `SluiceError` when it cannot be written.
    public func endCascade<Record: TableRecord>(
        from type: Record.Type,
        removingActions: Bool = false
    ) async throws(SluiceError) {
        try await endCascade(from: type.databaseTableName, removingActions: removingActions)
    }
}
#endif
