#if PostgreSQL
internal import Sluice

/// Makes and upgrades the tables and functions of a schema, each step in a transaction, one process at a
/// time.
enum PostgresSchema {
    /// - Parameter makesMissing: If not, a schema that lacks steps is an error.
    static func migrate(
        _ connection: PostgresConnection,
        _ schema: String,
        makesMissing: Bool = true
    ) async throws(PostgresFailure) {
        let steps = Migration.postgres
        try await checkSettings(connection)
        var version = try await connection.transaction { transaction throws(PostgresFailure) in
            try Self.version(transaction, schema)
        }
        if !makesMissing, version ?? 0 < steps.count {
            throw .schemaMissing(
                version.map { "it has \($0) of \(steps.count) steps; the next broker that runs updates it" }
                    ?? "there are no queues in it; the first broker that enqueues or runs makes them"
            )
        }
        if version == nil {
            try await create(connection, schema)
            version = 0
        }
        while let made = version, made < steps.count {
            version = try await apply(steps, connection, schema)
        }
        if let version, version > steps.count {
            let message =
                "the schema '\(schema)' was written by a newer version of the library: update this one"
            throw .refused(state: "SL002", message: message, detail: nil)
        }
    }

    /// Has the functions of the schema take the time that each call sets, in tests.
    static func setClock(_ connection: PostgresConnection) async throws(PostgresFailure) {
        _ = try await connection.call(
            """
            CREATE OR REPLACE FUNCTION @sluice_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
            AS $$ SELECT 'epoch'::timestamptz
                         + current_setting('sluice.test_now')::bigint * interval '1 microsecond' $$
            """
        )
    }

    /// Refuses what would garble or lose values that brokers write and read.
    private static func checkSettings(_ connection: PostgresConnection) async throws(PostgresFailure) {
        let needed = [
            ("server_encoding", "UTF8"), ("standard_conforming_strings", "on"), ("array_nulls", "on"),
        ]
        let sql = needed.map { "current_setting('\($0.0)') AS \($0.0)" }.joined(separator: ", ")
        guard let row = try await connection.call("SELECT \(sql)").first else { return }
        for (name, value) in needed where row.text(name) != value {
            let advice =
                name == "server_encoding"
                ? "make a database with ENCODING 'UTF8'" : "ALTER ROLE … SET \(name) = \(value)"
            throw .unsuitable("\(name) is \(row.text(name)), and queues need \(value): \(advice)")
        }
    }

    /// How many steps the schema has; `nil` if it has no table of them.
    private static func version(
        _ transaction: PostgresTransaction,
        _ schema: String
    ) throws(PostgresFailure) -> Int? {
        let known = try transaction.call(
            "SELECT to_regclass($1) IS NOT NULL AS known",
            ["\(quoted(schema)).sluice_migrations"]
        )
        guard known.first?.flag("known") == true else { return nil }
        let rows = try transaction.call(
            "SELECT coalesce(max(version), 0) AS version FROM @sluice_migrations"
        )
        return Int(rows.first?.integer("version") ?? 0)
    }

    private static func create(
        _ connection: PostgresConnection,
        _ schema: String
    ) async throws(PostgresFailure) {
        let known = try await connection.call(
            "SELECT to_regnamespace($1) IS NOT NULL AS known",
            [quoted(schema)]
        )
        let statements = [
            // A role without the right to make schemas may use one that is there.
            known.first?.flag("known") == true ? "SELECT 1" : "CREATE SCHEMA IF NOT EXISTS \(quoted(schema))",
            """
            CREATE TABLE IF NOT EXISTS @sluice_migrations (\
            version integer PRIMARY KEY, applied_at timestamptz NOT NULL)
            """,
        ]
        for statement in statements {
            do throws(PostgresFailure) {
                _ = try await connection.call(statement)
            } catch {
                // Of two processes that make it at the same time, the server refuses one.
                guard case .refused(let state, _, _) = error,
                    ["23505", "42P06", "42P07", "42710"].contains(state)
                else {
                    throw error
                }
            }
        }
    }

    /// Applies the next step, if no other process has done so; returns how many steps there are.
    private static func apply(
        _ steps: [Migration],
        _ connection: PostgresConnection,
        _ schema: String
    ) async throws(PostgresFailure) -> Int {
        try await connection.transaction { transaction throws(PostgresFailure) in
            _ = try transaction.call(
                "LOCK TABLE @sluice_migrations IN EXCLUSIVE MODE",
                within: .seconds(600)
            )
            let made = try version(transaction, schema) ?? 0
            guard made < steps.count else { return made }
            let path = "\(quoted(schema)), pg_temp"
            _ = try transaction.call("SELECT set_config('search_path', $1, true)", [path])
            try transaction.execute(script: steps[made].sql)
            _ = try transaction.call(
                "INSERT INTO @sluice_migrations (version, applied_at) VALUES ($1, clock_timestamp())",
                ["\(made + 1)"]
            )
            return made + 1
        }
    }
}
#endif
