#if PostgreSQL
internal import CSluicePostgres

/// Where the server is, and which of its schemas has the queues.
package struct PostgresAddress: Sendable, Hashable {
    /// A connection string of libpq:
    /// <https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING>.
    let url: String
    let schema: String
    /// Whether only a server that writes will do; unless the address says otherwise.
    var isForWriting = true

    /// A statement with the schema before the names that begin with `@sluice_`: no call needs a search path.
    func qualified(_ sql: String) -> String { sql.replacing("@sluice_", with: "\(quoted(schema)).sluice_") }

    /// The settings that the connection string has; `nil` if libpq cannot read it.
    ///
    /// libpq's reason is not passed on: it quotes parts of the string, which may be those of a password.
    var settings: [String: String]? {
        guard let options = PQconninfoParse(url, nil) else { return nil }
        defer { PQconninfoFree(options) }
        var settings: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                settings[String(cString: keyword)] = String(cString: value)
            }
            option += 1
        }
        return settings
    }

    /// The server and the schema for people; without a password.
    var place: String {
        let settings = settings ?? [:]
        let database = settings["dbname"].map { "database \($0)" } ?? "PostgreSQL"
        let host = settings["host"] ?? settings["hostaddr"] ?? settings["service"]
        return "\(database)\(host.map { " at \($0)" } ?? ""), schema \(schema)"
    }

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
            ("target_session_attrs", isForWriting ? "read-write" : "any"),
            ("dbname", url),
            // Whatever the environment of the process says.
            ("client_encoding", "UTF8"),
        ]
    }
}
#endif
