#if PostgreSQL
internal import CSluicePostgres
internal import Sluice
internal import Synchronization

/// Settles attempts in transactions of the application.
final class PostgresOrigin: AttemptOrigin {
    private let name = Mutex("")
    var schema: String {
        get { name.withLock { $0 } }
        set { name.withLock { $0 = newValue } }
    }

    var broker: Broker? { nil }

    /// - Parameter connection: A connection of libpq with an open transaction.
    func succeed(_ action: ClaimedAction, in connection: OpaquePointer) throws(SluiceError) {
        guard PQtransactionStatus(connection) == PQTRANS_INTRANS else {
            throw SluiceError(.noTransaction, "the connection has no open transaction: begin one first")
        }
        do throws(PostgresFailure) {
            let sql = "SELECT \(quoted(schema)).sluice_succeed($1)"
            _ = try PostgresLink.execute(on: connection, sql, ["\(action.receipt.claim)"])
        } catch {
            throw error.error(doing: "settling action \(action.receipt.action)")
        }
    }
}
#endif
