#if GRDB
public import GRDB
public import Sluice

/// A queue's name is its text, in requests and rows.
extension QueueName: DatabaseValueConvertible {
    /// The text.
    public var databaseValue: DatabaseValue { rawValue.databaseValue }

    /// Makes a name from a text.
    public static func fromDatabaseValue(_ value: DatabaseValue) -> QueueName? {
        String.fromDatabaseValue(value).map { QueueName($0) }
    }
}

/// An action's number is an integer, in requests and rows.
extension ActionID: DatabaseValueConvertible {
    /// The number.
    public var databaseValue: DatabaseValue { rawValue.databaseValue }

    /// Makes a number from an integer.
    public static func fromDatabaseValue(_ value: DatabaseValue) -> ActionID? {
        Int64.fromDatabaseValue(value).map { ActionID(rawValue: $0) }
    }
}
#endif
