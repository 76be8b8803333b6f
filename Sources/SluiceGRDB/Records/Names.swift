#if GRDB
public import GRDB
public import Sluice

/// A queue's name is its text, in requests and rows.
extension QueueName: DatabaseValueConvertible {
    /// The text.
    public var databaseValue: DatabaseValue { rawValue.databaseValue }

    /// The name that a text is.
    public static func fromDatabaseValue(_ value: DatabaseValue) -> QueueName? {
        String.fromDatabaseValue(value).map { QueueName($0) }
    }
}

/// An action's number is an integer, in requests and rows.
extension ActionID: DatabaseValueConvertible {
    /// The number.
    public var databaseValue: DatabaseValue { rawValue.databaseValue }

    /// The number that an integer is.
    public static func fromDatabaseValue(_ value: DatabaseValue) -> ActionID? {
        Int64.fromDatabaseValue(value).map { ActionID(rawValue: $0) }
    }
}
#endif
