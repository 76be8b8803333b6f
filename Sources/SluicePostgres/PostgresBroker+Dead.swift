#if PostgreSQL
public import Sluice

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Dead letters, as `Broker` has them.
extension PostgresBroker {
    /// Returns dead letters, the newest first: see `Broker/deadLetters(_:cause:after:limit:)`.
    public func deadLetters(
        _ pattern: QueuePattern = .all,
        cause: DeadLetterCause? = nil,
        after last: DeadLetter? = nil,
        limit: Int = 100
    ) async throws(SluiceError) -> [DeadLetter] {
        _ = try pattern.form()
        guard limit > 0 else { return [] }
        let rows = try await read(
            "reading dead letters",
            DeadLetterRow.sql(),
            [
                pattern.rawValue, cause?.rawValue, last.map { Timestamp($0.diedAt).postgresText },
                last.map { "\($0.id)" }, "\(min(limit, Int(Int32.max)))",
            ]
        )
        return rows.map { DeadLetterRow($0).letter }
    }

    /// Returns a dead letter; `nil` when there is none with this number.
    public func deadLetter(_ action: ActionID) async throws(SluiceError) -> DeadLetter? {
        // The first at its own place, which the view has.
        let rows = try await read(
            "reading a dead letter",
            DeadLetterRow.sql(
                "@sluice_dead AS d CROSS JOIN LATERAL ",
                "d.queue, NULL, d.died_at, d.id + 1, 1"
            )
                + " WHERE d.id = $1 AND l.action = d.id",
            ["\(action)"]
        )
        return rows.first.map { DeadLetterRow($0).letter }
    }

    /// Puts a dead letter back: see `Broker/requeue(_:)`.
    @discardableResult public func requeue(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await act("putting back", "SELECT @sluice_requeue($1) AS answer", ["\(action)"]) == "t"
    }

    /// Puts a dead letter back at the end of its queue: see `Broker/requeueAtEnd(_:)`.
    @discardableResult
    public func requeueAtEnd(_ action: ActionID) async throws(SluiceError) -> ActionID? {
        let number = try await act(
            "putting back",
            "SELECT @sluice_requeue_at_end($1) AS answer",
            ["\(action)"]
        )
        return Int64(number).map { ActionID(rawValue: $0) }
    }

    /// Puts the dead letters of a pattern back: see `Broker/requeueAll(_:cause:)`.
    @discardableResult
    public func requeueAll(
        _ pattern: QueuePattern,
        cause: DeadLetterCause? = nil
    ) async throws(SluiceError) -> Int { try await requeueLetters(pattern, cause: cause).count }

    /// Puts the dead letters of a pattern back, and returns which stay and why.
    package func requeueLetters(
        _ pattern: QueuePattern,
        cause: DeadLetterCause?
    ) async throws(SluiceError) -> RequeuedLetters {
        _ = try pattern.form()
        var letters = RequeuedLetters()
        var (next, last): (String?, String?)
        repeat {
            let row = try await write(
                "putting back",
                "SELECT * FROM @sluice_requeue_all($1, $2, coalesce($3::bigint, 0), $4)",
                [pattern.rawValue, cause?.rawValue, next, last]
            ).first
            var batch = RequeuedLetters()
            batch.count = Int(row?.integer("requeued") ?? 0)
            batch.keptCount = Int(row?.integer("kept") ?? 0)
            let reason = "its queue has another type of sort key now; wait until it is empty"
            batch.firstKept = row?.integer("first_kept").map { (ActionID(rawValue: $0), reason) }
            letters.add(batch)
            (next, last) = (row?["next"], row?["last"])
        } while next != nil
        changed()
        return letters
    }

    /// Deletes a dead letter with its history: see `Broker/purge(_:)`.
    @discardableResult public func purge(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await act("purging", "SELECT @sluice_purge($1) AS answer", ["\(action)"]) == "t"
    }

    /// Deletes dead letters with their histories, the oldest first: see
    /// `Broker/purgeDeadLetters(_:cause:diedBefore:keepingNewest:)`.
    @discardableResult
    public func purgeDeadLetters(
        _ pattern: QueuePattern = .all,
        cause: DeadLetterCause? = nil,
        diedBefore date: Date? = nil,
        keepingNewest count: Int = 0
    ) async throws(SluiceError) -> Int {
        _ = try pattern.form()
        var purged = 0
        var (lastDiedAt, last): (String?, String?)
        repeat {
            let row = try await write(
                "purging",
                "SELECT purged, last_died_at::text AS last_died_at, last "
                    + "FROM @sluice_purge_all($1, $2, $3, $4, $5, $6)",
                [
                    pattern.rawValue, cause?.rawValue, date.map { Timestamp($0).postgresText }, "\(count)",
                    lastDiedAt, last,
                ]
            ).first
            purged += Int(row?.integer("purged") ?? 0)
            (lastDiedAt, last) = (row?["last_died_at"], row?["last"])
        } while last != nil
        changed()
        return purged
    }
}
#endif
