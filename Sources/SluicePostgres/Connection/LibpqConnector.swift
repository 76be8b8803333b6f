#if PostgreSQL
internal import Dispatch
internal import Sluice

/// Connects by libpq.
struct LibpqConnector: PostgresConnector {
    // Whatever queue the application has named: its jobs would wait for the server, too.
    func queue() -> any WorkQueue { DispatchQueue(label: "sluice.postgres") }

    func connect(_ address: PostgresAddress) throws(PostgresFailure) -> any PostgresLink {
        try LibpqLink(address)
    }
}
#endif
