internal import SluiceSQLite

/// What names something that the file does not have.
extension Store {
    /// Returns the patterns that match no queue that any action has named.
    func patternsWithoutQueue(_ patterns: [QueuePattern]) async throws -> [QueuePattern] {
        guard !patterns.isEmpty else { return [] }
        return try await read { connection in
            try patterns.filter { pattern in
                let (first, last) = try pattern.form().bounds
                return try !connection.cached(
                    "SELECT 1 FROM sluice_queue_rows WHERE name >= ?1 AND (?2 IS NULL OR name < ?2) LIMIT 1"
                ).bind(1, first).bind(2, last).hasRow()
            }
        }
    }

    /// Returns the first queue whose head has no route, and how many there are; `nil` if there is none.
    func queuesWithoutRoute() async throws -> (first: QueueName, count: Int)? {
        try await read { connection in
            try connection.cached(
                """
                SELECT min(name), count(*) FROM sluice_queue_rows
                WHERE blocked_by IN ('no route', 'unknown kind')
                """
            ).first { row in row.optionalText(0).map { (QueueName($0), row.count(1)) } } ?? nil
        }
    }

    /// Returns the gates that were never opened or closed.
    func gatesWithoutRow(_ gates: Set<GateName>) async throws -> [GateName] {
        guard !gates.isEmpty else { return [] }
        return try await read { connection in
            try gates.filter { gate in
                try !connection.cached("SELECT 1 FROM sluice_gate_rows WHERE name = ?1")
                    .bind(1, gate.rawValue).hasRow()
            }
        }
    }
}
