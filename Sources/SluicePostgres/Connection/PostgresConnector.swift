#if PostgreSQL
package import Sluice

/// Makes the connections of a broker.
package protocol PostgresConnector: Sendable {
    /// Makes the queue on which the calls of one connection wait.
    func queue() -> any WorkQueue
    /// Connects, for at most the address's `connect_timeout`.
    func connect(_ address: PostgresAddress) throws(PostgresFailure) -> any PostgresLink
}
#endif
