#if PostgreSQL
package import Sluice

/// What the tool shows besides the reads of every broker.
extension PostgresBroker {
    /// The server's database and schema, in words without the address's password.
    package var place: String { calls.address.place }

    /// Returns the names of queues from a text on, also of empty ones.
    package func queueNames(from first: String, limit: Int) async throws(SluiceError) -> [QueueName] {
        let sql = "SELECT name FROM @sluice_queue_names($1, $2) AS n (name)"
        let rows = try await read("reading the names of queues", sql, [first, "\(limit)"])
        return rows.map { QueueName($0.text("name")) }
    }

    /// Returns the deduplication key of an action, also after its end.
    package func key(of action: ActionID) async throws(SluiceError) -> String? {
        let sql = "SELECT @sluice_action_key($1) AS key"
        return try await read("reading a key", sql, ["\(action)"]).first?["key"]
    }

    /// Returns the actions enqueued after the last of an earlier call; `nil` asks only for the last number.
    package func newActions(since earlier: ActionID?) async throws(SluiceError) -> Store.Arrivals {
        let sql = "SELECT queue, count, last FROM @sluice_arrived($1)"
        let rows = try await read("reading arrivals", sql, [earlier.map { "\($0)" }])
        var counts: [QueueName: Int] = [:]
        for row in rows {
            if let queue = row["queue"] { counts[QueueName(queue)] = Int(row.integer("count") ?? 0) }
        }
        return Store.Arrivals(last: ActionID(rawValue: rows.first?.integer("last") ?? 0), counts: counts)
    }

    /// A number that differs after most commits of anybody; queues are also read without one.
    package func changeMarker() async throws(SluiceError) -> Int64 {
        // The transactions under way and the next one: a hash of a text that every commit changes.
        let sql = "SELECT hashtextextended(pg_current_snapshot()::text, 0) AS marker"
        return try await read("reading the server's state", sql).first?.integer("marker") ?? 0
    }

    /// Returns the names of the workers whose leases last, those first that have run longest.
    package func runnerNames() async throws(SluiceError) -> [String] {
        let sql = "SELECT process FROM @sluice_runners WHERE lease_until > (SELECT @sluice_now())"
        return try await read("reading the workers", sql).map { $0.text("process") }
    }
}
#endif
