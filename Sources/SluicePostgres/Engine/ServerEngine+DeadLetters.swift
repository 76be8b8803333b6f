#if PostgreSQL
package import Sluice

extension ServerEngine {
    package func deadLetters(
        _ filter: DeadLetterFilter,
        after last: DeadLetterPlace?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetter] {
        let rows = try await read(
            "reading dead letters",
            DeadLetterRow.sql(),
            [
                filter.form.rawValue, filter.cause?.rawValue, last?.diedAt.postgresText,
                last.map { "\($0.id)" }, "\(min(limit, Int(Int32.max)))",
            ]
        )
        return rows.map { DeadLetterRow($0).letter }
    }

    package func deadLetter(_ action: ActionID) async throws(SluiceError) -> DeadLetter? {
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

    package func requeue(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await act("putting back", "SELECT @sluice_requeue($1) AS answer", ["\(action)"]) == "t"
    }

    package func requeueAtEnd(_ action: ActionID) async throws(SluiceError) -> ActionID? {
        let number = try await act(
            "putting back",
            "SELECT @sluice_requeue_at_end($1) AS answer",
            ["\(action)"]
        )
        return Int64(number).map { ActionID(rawValue: $0) }
    }

    package func requeueLetters(_ filter: DeadLetterFilter) async throws(SluiceError) -> RequeuedLetters {
        var letters = RequeuedLetters()
        var (next, last): (String?, String?)
        repeat {
            let row = try await write(
                "putting back",
                "SELECT * FROM @sluice_requeue_all($1, $2, coalesce($3::bigint, 0), $4)",
                [filter.form.rawValue, filter.cause?.rawValue, next, last]
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

    package func purge(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await act("purging", "SELECT @sluice_purge($1) AS answer", ["\(action)"]) == "t"
    }

    package func purgeDeadLetters(
        _ filter: DeadLetterFilter,
        diedBefore time: Timestamp?,
        keepingNewest count: Int
    ) async throws(SluiceError) -> Int {
        var purged = 0
        var (lastDiedAt, last): (String?, String?)
        repeat {
            let row = try await write(
                "purging",
                "SELECT purged, last_died_at::text AS last_died_at, last "
                    + "FROM @sluice_purge_all($1, $2, $3, $4, $5, $6)",
                [
                    filter.form.rawValue, filter.cause?.rawValue, time?.postgresText, "\(count)",
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
