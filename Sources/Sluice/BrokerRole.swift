/// How a broker uses its file.
public struct BrokerRole: Sendable, Hashable, CustomStringConvertible {
    private enum Value: String { case run, enqueueOnly, readOnly }

    private let value: Value
    /// The role's name.
    public var description: String { value.rawValue }
    /// Enqueues, operates, and runs the queues during ``Broker/run()``.
    public static let run = BrokerRole(value: .run)
    /// Enqueues and operates, but never runs the queues, such as in an extension of the application.
    ///
    /// ``Broker/run()`` throws ``SluiceError/Code/wrongRole``; routes are accepted and have no effect.
    public static let enqueueOnly = BrokerRole(value: .enqueueOnly)
    /// Reads and copies: status, dead letters, holds, gates, backups.
    ///
    /// Every write throws ``SluiceError/Code/readOnly``. Nothing is created, migrated or copied from the WAL:
    /// a file without queues, or with an older schema, is refused. See <doc:Files>.
    public static let readOnly = BrokerRole(value: .readOnly)
}
