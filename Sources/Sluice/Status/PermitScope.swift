#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// The limit that a head without a permit waits for.
public enum PermitScope: Sendable, Hashable {
    /// The handlers of its route have reached ``RouteOptions/concurrency``; `*` is also a route by predicate.
    case route(QueuePattern)
    /// The rate limit with this name (``RouteOptions/rate``) allows the next start at this time.
    ///
    /// Queues that wait for the limit start in the order in which they came to it, so it may take longer.
    case rate(String, until: Date)
    /// All handlers together have reached ``BrokerOptions/concurrency``.
    case broker
    /// Actions that ran when a process died, perhaps the head too, are tried alone (G7); `nil`: none yet.
    case crashTrial(of: TriedAction?)
    /// Other actions run in other processes, and only those processes know which permit is missing.
    case otherProcess
}
