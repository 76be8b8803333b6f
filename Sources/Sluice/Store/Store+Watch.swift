internal import SluiceSQLite

/// What somebody who watches the file needs, at little cost.
extension Store {
    /// A number that is another one whenever somebody has committed since
    /// (<https://www.sqlite.org/pragma.html#pragma_data_version>).
    package func commitMarker() async throws(SluiceError) -> Int64 {
        try await read { try $0.cached("PRAGMA data_version").first { $0.int64(0) } ?? 0 }
    }

    /// Actions that came to the file.
    package struct Arrivals: Sendable {
        /// The last number given; where to go on the next time.
        package var last = ActionID(rawValue: 0)
        /// Of each queue, how many came since and are still there.
        package var counts: [QueueName: Int] = [:]
    }

    /// What came after an action.
    ///
    /// - Parameter earlier: Where the last look ended; `nil` asks for no more than the last number.
    package func arrivals(since earlier: ActionID?) async throws(SluiceError) -> Arrivals {
        try await read { connection in
            var arrivals = Arrivals()
            arrivals.last = ActionID(
                rawValue: try connection.cached("SELECT value FROM sluice_counters WHERE name = 'action'")
                    .first { $0.int64(0) } ?? 0
            )
            guard let earlier, earlier < arrivals.last else { return arrivals }
            let counts = try connection.cached(
                """
                SELECT q.name, n.count
                FROM (SELECT queue_id, count(*) AS count FROM sluice_action_rows
                      WHERE id > ?1 GROUP BY queue_id) AS n
                JOIN sluice_queue_rows AS q ON q.queue_id = n.queue_id
                """
            )
            .bind(1, earlier.rawValue).all { (QueueName($0.text(0)), $0.int(1)) }
            arrivals.counts = Dictionary(counts, uniquingKeysWith: +)
            return arrivals
        }
    }

    /// Names of queues, in their order, those that are empty by now among them.
    package func queueNames(from first: String, limit: Int) async throws(SluiceError) -> [QueueName] {
        try await read { connection in
            try connection.cached(
                "SELECT name FROM sluice_queue_rows WHERE name >= ?1 ORDER BY name LIMIT ?2"
            )
            .bind(1, first).bind(2, limit).all { QueueName($0.text(0)) }
        }
    }

    /// A process that runs the queues, as far as the file knows.
    package struct Runner: Sendable {
        package let pid: Int64
        package let leaseUntil: Timestamp
        /// Whether its lease is over, by the time since the machine's start where that counts.
        package let isLeaseOver: Bool
        /// Whether the process lives; `nil` where the system does not tell.
        package let lives: Bool?
        /// How many actions it runs, or ran when it ended.
        package let runningCount: Int
        /// Where it has died: the process that still ends what its handlers had started.
        package var keeper: Int64?

        /// Whether the process has certainly ended.
        package var isDead: Bool { lives == false }
    }

    /// The processes that run the queues, those first that have done so longest.
    package func runningProcesses() async throws(SluiceError) -> [Runner] {
        let now = clock.now
        return try await read { try Runner.all($0, at: now) }
    }
}

extension Store.Runner {
    static func all(_ connection: Connection, at now: Timestamp) throws(SQLiteError) -> [Store.Runner] {
        let counts = try connection.cached(
            "SELECT claim >> 32, count(*) FROM sluice_claim_rows GROUP BY claim >> 32"
        )
        .all { ($0.int64(0), $0.int(1)) }
        let running = Dictionary(counts) { first, _ in first }
        let me = ProcessIdentity.current
        return try RunnerRow.all(connection).map {
            Store.Runner(
                pid: $0.process.pid,
                leaseUntil: $0.lease.wall,
                isLeaseOver: $0.isLeaseOver(at: now),
                lives: $0.process.lives(seenFrom: me),
                runningCount: running[$0.epoch] ?? 0,
                keeper: $0.leftover(seenFrom: me)?.pid
            )
        }
    }
}
