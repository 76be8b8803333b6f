#if PostgreSQL
package import Sluice

/// A connection to a server; used by its ``PostgresConnection`` alone, one call at a time.
package protocol PostgresLink: AnyObject {
    /// Whether nothing says, before a call, that the server has ended the connection.
    var isAlive: Bool { get }
    /// Has the server execute one statement, and waits for its answer.
    ///
    /// - Parameter limit: For how long. Then it throws ``PostgresFailure/lost(_:)`` with
    ///   ``PostgresFailure/tooLate``.
    func call(
        _ sql: String,
        _ parameters: [String?],
        within limit: Duration
    ) throws(PostgresFailure) -> PostgresRows
    /// Executes several statements; the server runs them as one transaction.
    func execute(script: String) throws(PostgresFailure)
    /// Calls back on a queue when a notification comes, outside of calls, and when the connection is lost.
    func watch(
        on queue: any WorkQueue,
        ring: @escaping @Sendable () -> Void,
        lost: @escaping @Sendable () -> Void
    )
    func finish()
}
#endif
