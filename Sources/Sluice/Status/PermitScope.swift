/// The limit that a head without a permit waits for.
public enum PermitScope: Sendable, Hashable {
    /// The handlers of its route have reached ``RouteOptions/concurrency``.
    case route(QueuePattern)
    /// All handlers together have reached ``BrokerOptions/concurrency``.
    case broker
    /// Actions that ran when a process died are tried alone, or are about to be (G7); the head may be one of
    /// them.
    ///
    /// `nil` means that none of them has started.
    case crashTrial(of: TriedAction?)
    /// Other actions run in other processes, and only those processes know which permit is missing.
    case otherProcess
}
