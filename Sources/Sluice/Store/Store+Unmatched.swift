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

    /// The queues whose heads have no route.
    struct Routeless {
        let first: QueueName
        /// What the first one lacks a route for, if others of its name have one.
        let kind: String?
        let count: Int
    }

    /// Returns the queues whose heads have no route; `nil` if there is none.
    func queuesWithoutRoute() async throws -> Routeless? {
        try await read { connection in
            try connection.cached(
                """
                SELECT q.name, iif(q.blocked_by = 'unknown kind', a.kind, NULL), count(*) OVER ()
                FROM sluice_queue_rows AS q LEFT JOIN sluice_action_rows AS a ON a.id = q.blocked_action_id
                WHERE q.blocked_by IN ('no route', 'unknown kind') ORDER BY q.name LIMIT 1
                """
            ).first { Routeless(first: QueueName($0.text(0)), kind: $0.optionalText(1), count: $0.count(2)) }
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
