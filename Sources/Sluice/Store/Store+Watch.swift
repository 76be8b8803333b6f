internal import SluiceSQLite

extension Store {
    /// Returns a number that changes with each commit of another connection
    /// (<https://www.sqlite.org/pragma.html#pragma_data_version>).
    package func commitMarker() async throws(SluiceError) -> Int64 {
        try await read { try $0.cached("PRAGMA data_version").first { $0.int64(0) } ?? 0 }
    }

    /// Returns the actions enqueued after the last of an earlier call; `nil` asks only for the last sequence.
    package func arrivals(since earlier: ActionID?) async throws(SluiceError) -> Arrivals {
        try await read { connection in
            var arrivals = Arrivals()
            let last = try connection.cached("SELECT value FROM sluice_counters WHERE name = 'action'")
                .first { ActionID(rawValue: $0.int64(0)) }
            if let last { arrivals.last = last }
            guard let earlier, earlier < arrivals.last else { return arrivals }
            let counts = try connection.cached(
                """
                SELECT q.name, n.count
                FROM (SELECT queue_id, count(*) AS count FROM sluice_action_rows WHERE id > ?1
                      GROUP BY queue_id) AS n JOIN sluice_queue_rows AS q ON q.queue_id = n.queue_id
                """
            ).bind(1, earlier.rawValue).all { (QueueName($0.text(0)), $0.int(1)) }
            arrivals.counts = Dictionary(counts, uniquingKeysWith: +)
            return arrivals
        }
    }

    package func queueNames(from first: String, limit: Int) async throws(SluiceError) -> [QueueName] {
        try await read { connection in
            try connection.cached(
                "SELECT name FROM sluice_queue_rows WHERE name >= ?1 ORDER BY name LIMIT ?2"
            ).bind(1, first).bind(2, limit).all { QueueName($0.text(0)) }
        }
    }

    /// Returns the processes that run the queues, those first that have done so longest.
    package func runningProcesses() async throws(SluiceError) -> [RunningProcess] {
        let now = clock.now
        return try await read { try RunningProcess.all($0, at: now) }
    }
}
