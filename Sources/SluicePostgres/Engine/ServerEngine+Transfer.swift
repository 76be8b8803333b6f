#if PostgreSQL
package import Sluice

/// Actions on their way between this schema and a file or another schema.
extension ServerEngine {
    /// The limit of the payloads' bytes is approximate; only the page after the last is empty.
    package func exportPage(
        _ form: QueuePattern.Form,
        after last: ActionID,
        limit: Int,
        byteLimit: Int
    ) async throws(SluiceError) -> [TransferredAction] {
        let sql = """
            SELECT action, queue, kind, sort_type, encode(sort_key, 'hex') AS sort_key, payload, version, \
            tag, gate, trace, \
            \(microseconds("not_before")) AS not_before, \(microseconds("expires_at")) AS expires_at \
            FROM @sluice_export($1, $2, $3, $4)
            """
        let rows = try await read(
            "reading actions",
            sql,
            [form.rawValue, "\(last)", "\(limit)", "\(byteLimit)"]
        )
        return rows.map { row in
            var action = TransferredAction(
                queue: QueueName(row.text("queue")),
                kind: row.text("kind"),
                sortKey: row.sortKey,
                payload: row.text("payload")
            )
            action.id = ActionID(rawValue: row.integer("action") ?? 0)
            action.version = row.integer("version") ?? 1
            action.tag = row["tag"]
            action.gate = row["gate"].map { GateName($0) }
            action.notBefore = row.time("not_before")
            action.expiresAt = row.time("expires_at")
            action.trace = row["trace"]
            return action
        }
    }

    package func movedActions(
        _ form: QueuePattern.Form
    ) async throws(SluiceError) -> (first: [ActionID], last: [ActionID]) {
        let sql = "SELECT front FROM @sluice_export_front($1) AS front"
        let rows = try await read("reading the order", sql, [form.rawValue])
        return (rows.map { ActionID(rawValue: $0.integer("front") ?? 0) }, [])
    }

    /// Refuses what it would lose.
    package func take(_ actions: [TransferredAction]) async throws -> [ActionID?] {
        for action in actions { try Self.checkCapacity(for: action) }
        let ids = try await enqueuer.enqueue(actions.map { try book.drafter.draft($0) })
        changed()
        return ids
    }

    private static func checkCapacity(for action: TransferredAction) throws(SluiceError) {
        guard action.groups.isEmpty else {
            throw SluiceError(
                .unsupported,
                "groups of actions need a file: leave out starts_groups and member_of, or keep it there"
            )
        }
        guard action.attempts == 0, action.key == nil, action.enqueuedAt == nil else {
            throw SluiceError(.unsupported, "the entries of a folder need a file: import it into one first")
        }
        for time in [action.notBefore, action.expiresAt] {
            guard let time, time.iso8601 != time.postgresText else { continue }
            throw SluiceError(.invalidOptions, "a time is not in the years 1 to 9999, which the server has")
        }
    }
}
#endif
