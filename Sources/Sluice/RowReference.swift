/// A row of one of the application's own tables, which an action belongs to: when the row goes, so does the
/// action.
///
/// ```swift
/// try await broker.cascade(from: "messages")
/// try await broker.enqueue(send, EnqueueOptions(row: RowReference("messages", message.id)))
/// ```
///
/// See ``Broker/cascade(from:key:)``.
public struct RowReference: Sendable, Hashable {
    enum Key: Sendable, Hashable {
        case integer(Int64)
        case text(String)
        case blob([UInt8])
    }

    /// The table's name; upper and lower case are the same, as in SQL.
    public let table: String
    let key: Key

    /// Names a row by an integer.
    ///
    /// - Parameters:
    ///   - table: A table that ``Broker/cascade(from:key:)`` has been called for.
    ///   - key: The value of its key column.
    public init(_ table: String, _ key: Int64) {
        self.table = table
        self.key = .integer(key)
    }

    /// Names a row by a text.
    ///
    /// - Parameters:
    ///   - table: As for an integer.
    ///   - key: The value of its key column.
    public init(_ table: String, _ key: String) {
        self.table = table
        self.key = .text(key)
    }

    /// Names a row by a blob, such as the 16 bytes of a UUID.
    ///
    /// - Parameters:
    ///   - table: As for an integer.
    ///   - key: The value of its key column.
    public init(_ table: String, _ key: [UInt8]) {
        self.table = table
        self.key = .blob(key)
    }
}
