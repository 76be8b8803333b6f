#if PostgreSQL
/// Where the server is, and which of its schemas has the queues.
struct PostgresAddress: Sendable, Hashable {
    /// A connection string of libpq:
    /// <https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING>.
    let url: String
    let schema: String

    /// A statement with the schema before the names that begin with `@sluice_`: no call needs a search path.
    func qualified(_ sql: String) -> String { sql.replacing("@sluice_", with: "\(quoted(schema)).sluice_") }

    /// The parameters of a connection, of which the later ones count.
    ///
    /// A server that disappears is noticed within half a minute, unless the address says otherwise.
    var parameters: [(name: String, value: String)] {
        [
            ("application_name", "sluice"),
            ("connect_timeout", "10"),
            ("keepalives_idle", "10"),
            ("keepalives_interval", "5"),
            ("keepalives_count", "3"),
            ("tcp_user_timeout", "30000"),
            ("dbname", url),
            // Whatever the environment of the process says.
            ("client_encoding", "UTF8"),
        ]
    }
}
#endif
