#if PostgreSQL
package import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Each act is a function of the schema.
extension ServerEngine {
    package func cancel(_ action: ActionID) async throws(SluiceError) -> Cancellation {
        let word = try await act("cancelling", "SELECT @sluice_cancel($1) AS answer", ["\(action)"])
        switch word {
        case "removed":
            loop.noteEnd(of: action, .removed)
            return .removed
        case "signalled":
            runner.cancel(action, .removal)
            return .signalled
        default: return .tooLate
        }
    }

    package func cancel(tag: String) async throws(SluiceError) -> CancellationCounts {
        try await cancelAll("SELECT * FROM @sluice_cancel_tag($1, coalesce($2::bigint, 0), $3)", tag)
    }

    package func cancel(queues form: QueuePattern.Form) async throws(SluiceError) -> CancellationCounts {
        try await cancelAll("SELECT * FROM @sluice_cancel_queues($1, $2, $3)", form.rawValue)
    }

    private func cancelAll(_ sql: String, _ subject: String) async throws(SluiceError) -> CancellationCounts {
        var counts = CancellationCounts()
        var (next, last): (String?, String?)
        repeat {
            guard let row = try await write("cancelling", sql, [subject, next, last]).first else { break }
            let signalled = PostgresArray.numbers(in: row.text("signalled")).compactMap { $0 }
            for id in signalled { runner.cancel(ActionID(rawValue: id), .removal) }
            counts.signalled += signalled.count
            counts.removed += Int(row.integer("removed") ?? 0)
            (next, last) = (row["next"], row["last"])
        } while next != nil
        changed()
        return counts
    }

    package func move(_ action: ActionID, to queue: QueueName) async throws(SluiceError) -> ActionChange {
        let options = book.drafter.options(of: queue)
        return try await change(
            "SELECT @sluice_move($1, $2, $3, $4) AS answer",
            [
                "\(action)", queue.rawValue, options?.maximumDepth.map { "\($0)" },
                options?.sortKey.map { $0.rawValue },
            ]
        )
    }

    package func moveToFront(_ action: ActionID) async throws(SluiceError) -> ActionChange {
        try await change("SELECT @sluice_move_to_front($1) AS answer", ["\(action)"])
    }

    package func edit(
        _ action: ActionID,
        to payload: NewPayload,
        replacing old: String?,
        ifRunning: EditWhileRunning
    ) async throws(SluiceError) -> ActionChange {
        let (kind, text, version): (String, String, Int)
        switch payload {
        case .typed(let newKind, let stored, let newVersion):
            (kind, text, version) = (newKind, stored, newVersion)
        case .text(let json):
            guard let details = try await self.action(action).details else { return .missing }
            (kind, version) = (details.kind, details.version)
            text = try book.drafter.seal(json, SealingContext(kind: kind, version: version))
        }
        return try await change(
            "SELECT @sluice_edit($1, $2, $3, $4, $5, $6) AS answer",
            ["\(action)", kind, text, "\(version)", ifRunning == .next ? "next" : "refuse", old]
        )
    }

    package func reschedule(
        _ action: ActionID,
        notBefore time: Timestamp?
    ) async throws(SluiceError) -> ActionChange {
        try await change(
            "SELECT @sluice_reschedule($1, $2) AS answer",
            ["\(action)", time?.postgresText]
        )
    }

    package func setExpiry(_ action: ActionID, _ time: Timestamp?) async throws(SluiceError) -> ActionChange {
        try await change(
            "SELECT @sluice_set_expiry($1, $2) AS answer",
            ["\(action)", time?.postgresText]
        )
    }

    package func setTag(_ action: ActionID, _ tag: String?) async throws(SluiceError) -> ActionChange {
        try await change("SELECT @sluice_set_tag($1, $2) AS answer", ["\(action)", tag])
    }

    package func skipHead(
        of queue: QueueName,
        only action: ActionID?,
        reason: String?
    ) async throws(SluiceError) -> HeadSkip {
        let row = try await write(
            "skipping the head",
            "SELECT * FROM @sluice_skip_head($1, $2, $3)",
            [queue.rawValue, reason, action.map { "\($0)" }]
        ).first
        changed()
        let found = ActionID(rawValue: row?.integer("action") ?? 0)
        switch row?.text("result") {
        case "skipped":
            await reportSkip(of: found, in: queue)
            return .skipped(found)
        case "running": return .running(found)
        case "other": return .other(found)
        default: return .empty
        }
    }

    /// Reports the dead letter that an operator has made, which is logged like one that an attempt has made.
    private func reportSkip(of action: ActionID, in queue: QueueName) async {
        var event = QueueEvent(.deadLettered, at: options.clock.now.date, queue: queue)
        (event.action, event.deadLetterCause) = (action, .skipped)
        do throws(SluiceError) {
            let letter = try await deadLetter(action)
            (event.actionKind, event.error) = (letter?.kind, letter?.error)
        } catch {
            // It has been skipped all the same.
            event.error = "\(error)"
        }
        loop.report([event])
    }

    package func retryNow(_ form: QueuePattern.Form) async throws(SluiceError) -> Int {
        var (count, before): (Int, String?) = (0, nil)
        repeat {
            let row = try await write(
                "retrying",
                "SELECT changed, again::text AS again FROM @sluice_retry_now($1, $2)",
                [form.rawValue, before]
            ).first
            count += Int(row?.integer("changed") ?? 0)
            before = row?["again"]
        } while before != nil
        changed()
        return count
    }

    package func retryNow(queues names: [QueueName]) async throws(SluiceError) -> Int {
        var count = 0
        for name in names { count += try await retryNow(.exact(name)) }
        return count
    }

    package func runNow(
        _ form: QueuePattern.Form,
        includingRetries: Bool
    ) async throws(SluiceError) -> Int {
        throw SluiceError(.unsupported, "queues on PostgreSQL have no batches: leave out runNow(_:)")
    }

    package func openGate(
        _ name: GateName,
        isKept: Bool,
        spread: Duration
    ) async throws(SluiceError) {
        _ = try await act(
            "opening a gate",
            "SELECT @sluice_open_gate($1, $2) AS answer",
            [name.rawValue, spread.postgresText]
        )
    }

    package func closeGate(
        _ name: GateName,
        isKept: Bool,
        for duration: Duration?
    ) async throws(SluiceError) {
        _ = try await act(
            "closing a gate",
            "SELECT @sluice_close_gate($1, $2) AS answer",
            [name.rawValue, duration?.postgresText]
        )
    }

    package func hold(
        _ pattern: QueuePattern,
        by holder: String,
        reason: String,
        for duration: Duration?
    ) async throws(SluiceError) -> HoldID {
        let number = try await act(
            "holding queues",
            "SELECT @sluice_hold($1, $2, $3, $4) AS answer",
            [pattern.rawValue, holder, reason, duration?.postgresText]
        )
        return HoldID(rawValue: Int64(number) ?? 0)
    }

    package func audit(_ act: String, by person: String, result: String) async throws(SluiceError) {
        let entry = AuditEntry(act, by: person, result: result, at: Date())
        _ = try await self.act(
            "writing the audit log",
            "SELECT @sluice_audit_add($1, $2, $3) AS answer",
            [entry.person, entry.act, entry.result]
        )
    }

    package func endHold(_ hold: HoldID) async throws(SluiceError) -> Bool {
        try await act("ending a hold", "SELECT @sluice_end_hold($1) AS answer", ["\(hold.rawValue)"]) == "t"
    }

    package func endHolds(
        matching pattern: QueuePattern,
        by holder: String?
    ) async throws(SluiceError) -> Int {
        let count = try await act(
            "ending holds",
            "SELECT @sluice_end_holds($1, $2) AS answer",
            [pattern.rawValue, holder]
        )
        return Int(count) ?? 0
    }

    func act(
        _ task: String,
        _ sql: String,
        _ parameters: [String?]
    ) async throws(SluiceError) -> String {
        let rows = try await write(task, sql, parameters)
        changed()
        return rows.first?["answer"] ?? ""
    }

    private func change(_ sql: String, _ parameters: [String?]) async throws(SluiceError) -> ActionChange {
        switch try await act("changing an action", sql, parameters) {
        case "done": .done
        case "deferred": .deferred
        case "running": .running
        case "conflict": .conflict
        default: .missing
        }
    }
}
#endif
