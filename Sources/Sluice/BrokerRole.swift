/// What a broker does with its file.
public struct BrokerRole: Sendable, Hashable, CustomStringConvertible {
    private enum Value: String { case run, enqueueOnly, readOnly }

    private let value: Value

    /// The role's name.
    public var description: String { value.rawValue }

    /// Everything: enqueues, operates, and runs the queues when it is told to.
    public static let run = BrokerRole(value: .run)

    /// Enqueues and operates, and never runs the queues: ``Broker/run()`` throws
    /// ``SluiceError/Code/wrongRole``, and a route is accepted and runs nothing.
    ///
    /// For an extension or a command beside the application that runs them.
    public static let enqueueOnly = BrokerRole(value: .enqueueOnly)

    /// Looks and copies: status, dead letters, holds, gates, backups.
    ///
    /// Every write throws ``SluiceError/Code/readOnly``. Nothing is created, migrated or copied from the log:
    /// a file without queues, or with an older schema, is refused. It opens a file that cannot be written
    /// too, as long as SQLite can read it: see <doc:Files>.
    public static let readOnly = BrokerRole(value: .readOnly)
}
