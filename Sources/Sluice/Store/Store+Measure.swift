internal import SluiceSQLite

/// What metrics tell of a file.
package struct Measurement: Sendable, Hashable {
    /// Actions of one kind.
    package struct Kind: Sendable, Hashable {
        package let name: String
        package let depth: Int
        /// When the oldest was enqueued.
        package let oldest: Timestamp
    }

    package let kinds: [Kind]
    /// Queues that do not move, by what stands in `blocked_by`.
    package let parked: [String: Int]
    /// The size of the write-ahead log; `nil` in memory.
    package let logByteCount: Int?
}

extension Store {
    /// Counts actions by kind and parked queues by reason, in one read.
    ///
    /// - Parameter limit: The most actions that are counted, the oldest first, and the most queues.
    package func measure(limit: Int) async throws(SluiceError) -> Measurement {
        try await read { connection in
            let kinds = try connection.cached(
                """
                SELECT kind, count(*), min(enqueued_at_us)
                FROM (SELECT kind, enqueued_at_us FROM sluice_action_rows ORDER BY id LIMIT ?1)
                GROUP BY kind
                """
            )
            .bind(1, limit).all {
                Measurement.Kind(
                    name: $0.text(0),
                    depth: $0.int(1),
                    oldest: Timestamp(microseconds: $0.int64(2))
                )
            }
            // What a gate keeps is not parked: it may have opened since.
            let parked = try connection.cached(
                """
                SELECT blocked_by, count(*)
                FROM (SELECT blocked_by FROM sluice_queue_rows WHERE blocked_by IS NOT NULL LIMIT ?1)
                WHERE blocked_by <> 'gate'
                GROUP BY blocked_by
                """
            )
            .bind(1, limit).all { ($0.text(0), $0.int(1)) }
            return Measurement(
                kinds: kinds,
                parked: Dictionary(uniqueKeysWithValues: parked),
                logByteCount: connection.logPath.flatMap(DatabaseFile.byteCount(of:))
            )
        }
    }
}
