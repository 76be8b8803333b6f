#if PostgreSQL
package import Sluice

/// What the tool shows besides the reads of every broker.
extension ServerEngine {
    package var place: String { calls.address.place }

    package func queueNames(from first: String, limit: Int) async throws(SluiceError) -> [QueueName] {
        let sql = "SELECT name FROM @sluice_queue_names($1, $2) AS n (name)"
        let rows = try await read("reading the names of queues", sql, [first, "\(limit)"])
        return rows.map { QueueName($0.text("name")) }
    }

    package func keyAndGroups(
        of action: ActionID
    ) async throws(SluiceError) -> (key: String?, groups: ActionGroups) {
        let sql = "SELECT @sluice_action_key($1) AS key"
        return (try await read("reading a key", sql, ["\(action)"]).first?["key"], ActionGroups())
    }

    package func newActions(since earlier: ActionID?) async throws(SluiceError) -> Arrivals {
        let sql = "SELECT queue, count, last FROM @sluice_arrived($1)"
        let rows = try await read("reading arrivals", sql, [earlier.map { "\($0)" }])
        var counts: [QueueName: Int] = [:]
        for row in rows {
            if let queue = row["queue"] { counts[QueueName(queue)] = Int(row.integer("count") ?? 0) }
        }
        return Arrivals(last: ActionID(rawValue: rows.first?.integer("last") ?? 0), counts: counts)
    }

    package func changeMarker() async throws(SluiceError) -> Int64 {
        // The transactions under way and the next one: a hash of a text that every commit changes.
        let sql = "SELECT hashtextextended(pg_current_snapshot()::text, 0) AS marker"
        return try await read("reading the server's state", sql).first?.integer("marker") ?? 0
    }

    package func runnerNames() async throws(SluiceError) -> [String] {
        let sql = "SELECT process FROM @sluice_runners WHERE lease_until > (SELECT @sluice_now())"
        return try await read("reading the workers", sql).map { $0.text("process") }
    }
}
#endif
