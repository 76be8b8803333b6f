#if PostgreSQL
internal import CSluicePostgres
internal import Sluice

/// The broker that attempts belong to, and what settles them in transactions of the application.
final class PostgresOrigin: AttemptOrigin {
    private let schema: String
    private let reference: BrokerReference

    init(schema: String, _ reference: BrokerReference) { (self.schema, self.reference) = (schema, reference) }

    var broker: Broker? { reference.broker }

    /// - Parameter connection: A connection of libpq with an open transaction.
    func succeed(_ action: ClaimedAction, in connection: OpaquePointer) throws(SluiceError) {
        guard PQtransactionStatus(connection) == PQTRANS_INTRANS else {
            throw SluiceError(.noTransaction, "the connection has no open transaction: begin one first")
        }
        do throws(PostgresFailure) {
            let sql = "SELECT \(quoted(schema)).sluice_succeed($1)"
            _ = try LibpqLink.execute(on: connection, sql, ["\(action.receipt.claim)"])
        } catch {
            throw error.error(doing: "settling action \(action.receipt.action)")
        }
    }
}
#endif
