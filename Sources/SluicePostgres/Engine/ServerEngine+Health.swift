#if PostgreSQL
internal import Logging
package import Sluice

/// Reads about the server and the schema; each is one statement that changes nothing.
extension ServerEngine {
    /// Returns what concerns the health of the queues and of their server.
    package func health() async throws(SluiceError) -> PostgresHealth {
        var health = PostgresHealth()
        health.place = place
        try await readServer(&health)
        try await readSnapshots(&health)
        try await readTables(&health)
        try await readQueues(&health)
        if !health.isStandby { await tryWorker(&health) }
        health.rings = await rings()
        return health
    }

    /// Has a worker register, step and leave, which is undone.
    ///
    /// A role that only reads may not try it.
    private func tryWorker(_ health: inout PostgresHealth) async {
        do throws(SluiceError) {
            health.refusal = try await read("trying a worker", "SELECT @sluice_try() AS why").first?["why"]
            let rows = try await read("comparing claims", "SELECT @sluice_contradictions() AS what LIMIT 20")
            health.contradictions = rows.map { $0.text("what") }
        } catch {
            options.logger.debug("a worker could not be tried", metadata: ["error": "\(error)"])
        }
    }

    private static let settingNames = [
        "synchronous_commit", "synchronous_standby_names", "fsync", "full_page_writes", "autovacuum",
        "idle_in_transaction_session_timeout", "default_transaction_isolation", "statement_timeout",
        "default_transaction_read_only", "max_connections", "track_activities", "track_counts",
    ]

    private func readServer(_ health: inout PostgresHealth) async throws(SluiceError) {
        let sql = """
            SELECT current_setting('server_version') AS version, \
            current_setting('server_version_num') AS number, current_database() AS database, \
            current_user AS role, pg_is_in_recovery() AS standby, \
            pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees, \
            (SELECT max(version) FROM @sluice_migrations) AS steps, \
            (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS standbys, \
            \(microseconds("clock_timestamp()")) AS now
            """
        let before = options.clock.now
        guard let row = try await read("reading about the server", sql).first else { return }
        let after = options.clock.now
        health.version = row.text("version")
        health.versionNumber = Int(row.integer("number") ?? 0)
        (health.database, health.user) = (row.text("database"), row.text("role"))
        (health.isStandby, health.seesSessions) = (row.flag("standby"), row.flag("sees"))
        (health.stepCount, health.knownStepCount) = (Int(row.integer("steps") ?? 0), Migration.postgres.count)
        health.synchronousStandbyCount = Int(row.integer("standbys") ?? 0)
        if let now = row.time("now") {
            if now < before { health.clockAhead = before - now }
            if now > after { health.clockAhead = after - now }
        }
        let settings = try await read(
            "reading settings",
            "SELECT name, setting FROM pg_settings WHERE name = ANY ($1::text[])",
            [PostgresArray.text(Self.settingNames)]
        )
        for row in settings { health.settings[row.text("name")] = row.text("setting") }
    }

    private func readSnapshots(_ health: inout PostgresHealth) async throws(SluiceError) {
        // Vacuum's own snapshot keeps nothing, and this session's is new.
        let sql = """
            SELECT 'process ' || pid AS owner, coalesce(application_name, '') AS application, \
            coalesce(state, backend_type, '') AS state, \
            (extract(epoch FROM clock_timestamp() - coalesce(xact_start, backend_start)) * 1000000)::bigint \
            AS age FROM pg_stat_activity \
            WHERE pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker' \
            AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL OR state LIKE 'idle in transaction%') \
            UNION ALL SELECT 'the prepared transaction ' || gid, '', 'prepared', \
            (extract(epoch FROM clock_timestamp() - prepared) * 1000000)::bigint FROM pg_prepared_xacts \
            UNION ALL SELECT 'the replication slot ' || slot_name, '', 'slot', NULL \
            FROM pg_replication_slots WHERE xmin IS NOT NULL AND NOT active \
            ORDER BY age DESC NULLS LAST LIMIT 20
            """
        let rows = try await read("reading about transactions", sql)
        health.snapshots = rows.map { row in
            PostgresHealth.Snapshot(
                owner: row.text("owner"),
                application: row.text("application"),
                state: row.text("state"),
                age: .microseconds(row.integer("age") ?? 0)
            )
        }
        let count = try await read(
            "counting prepared transactions",
            "SELECT count(*) AS count FROM pg_prepared_xacts WHERE database = current_database()"
        )
        health.preparedCount = Int(count.first?.integer("count") ?? 0)
    }

    private func readTables(_ health: inout PostgresHealth) async throws(SluiceError) {
        let sql = """
            SELECT c.relname AS name, coalesce(s.n_live_tup, 0) AS live, coalesce(s.n_dead_tup, 0) AS dead, \
            NOT coalesce('autovacuum_enabled=false' = ANY (c.reloptions), false) AS vacuums \
            FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
            LEFT JOIN pg_stat_all_tables AS s ON s.relid = c.oid \
            WHERE n.nspname = $1 AND c.relkind = 'r' AND starts_with(c.relname, 'sluice_') ORDER BY c.relname
            """
        let rows = try await read("reading about tables", sql, [server.schema])
        health.tables = rows.map { row in
            PostgresHealth.Table(
                name: row.text("name"),
                liveCount: row.integer("live") ?? 0,
                deadCount: row.integer("dead") ?? 0,
                hasAutovacuum: row.flag("vacuums")
            )
        }
    }

    /// Returns the workers that run the queues, with the ends of their leases.
    package func workers() async throws(SluiceError) -> [PostgresHealth.Worker] {
        let workers = try await read(
            "reading the workers",
            """
            SELECT process, running, \
            (extract(epoch FROM lease_until - (SELECT @sluice_now())) * 1000000)::bigint AS left_us \
            FROM @sluice_runners
            """
        )
        return workers.map { row in
            PostgresHealth.Worker(
                name: row.text("process"),
                runningCount: Int(row.integer("running") ?? 0),
                leaseLeft: .microseconds(row.integer("left_us") ?? 0)
            )
        }
    }

    private func readQueues(_ health: inout PostgresHealth) async throws(SluiceError) {
        health.workers = try await workers()
        health.actionCount = try await actionCount()
        let counts = try await read(
            "counting",
            """
            SELECT (SELECT count(*) FROM @sluice_dead) AS dead, \
            (SELECT count(*) FROM @sluice_holds) AS holds
            """
        )
        health.deadLetterCount = Int(counts.first?.integer("dead") ?? 0)
        health.holdCount = Int(counts.first?.integer("holds") ?? 0)
        let sql = """
            SELECT s.state, count(*) AS count FROM @sluice_statuses('*', NULL, 1000000) AS s \
            GROUP BY s.state
            """
        let states = try await read("counting queues", sql)
        for row in states {
            guard let state = QueueStatus.State(rawValue: row.text("state")) else { continue }
            health.states[state] = Int(row.integer("count") ?? 0)
        }
    }

    /// Whether a notification reaches a connection that listens, as it does not through a pooler.
    private func rings() async -> Bool {
        let url = server.listeningURL ?? calls.address.url
        let listener = PostgresConnection(
            PostgresAddress(url: url, schema: server.schema),
            by: server.connector
        )
        let channel = "sluice_doctor_\(UInt64.random(in: 0 ... .max))"
        let bell = ChangeCounter(options.engine.place)
        let count = bell.count
        do throws(PostgresFailure) {
            try await listener.listen(channel, ring: bell.change, lost: {})
            _ = try await calls.call("SELECT pg_notify($1, '')", [channel])
            await bell.next(since: count, within: .seconds(2))
        } catch {
            options.logger.debug("a notification could not be tried", metadata: ["error": "\(error)"])
        }
        await listener.close()
        return bell.count != count
    }
}
#endif
