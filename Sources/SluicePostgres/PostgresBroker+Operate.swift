#if PostgreSQL
public import Sluice

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// The acts of operators, as `Broker` has them; each is a function of the schema.
extension PostgresBroker {
    /// Cancels an action: see `Broker/cancel(_:)`.
    @discardableResult public func cancel(_ action: ActionID) async throws(SluiceError) -> Cancellation {
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

    /// Cancels the actions that have a tag: see `Broker/cancel(tag:)`.
    @discardableResult public func cancel(tag: String) async throws(SluiceError) -> CancellationCounts {
        try EnqueueOptions.validate(tag: tag)
        return try await cancelAll("SELECT * FROM @sluice_cancel_tag($1, coalesce($2::bigint, 0), $3)", tag)
    }

    /// Cancels all actions in the queues of a pattern: see `Broker/cancel(queues:)`.
    @discardableResult
    public func cancel(queues pattern: QueuePattern) async throws(SluiceError) -> CancellationCounts {
        _ = try pattern.form()
        return try await cancelAll("SELECT * FROM @sluice_cancel_queues($1, $2, $3)", pattern.rawValue)
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

    /// Moves an action to another queue: see `Broker/move(_:to:)`.
    @discardableResult
    public func move(_ action: ActionID, to queue: QueueName) async throws(SluiceError) -> ActionChange {
        try queue.validateForActions()
        let options = book.drafter.options(of: queue)
        return try await change(
            "SELECT @sluice_move($1, $2, $3, $4) AS answer",
            [
                "\(action)", queue.rawValue, options?.maximumDepth.map { "\($0)" },
                options?.sortKey.map { $0.rawValue },
            ]
        )
    }

    /// Makes a waiting action the next to start in its queue: see `Broker/moveToFront(_:)`.
    @discardableResult public func moveToFront(_ action: ActionID) async throws(SluiceError) -> ActionChange {
        try await change("SELECT @sluice_move_to_front($1) AS answer", ["\(action)"])
    }

    /// Replaces an action's payload: see `Broker/edit(_:to:ifRunning:)`.
    @discardableResult
    public func edit<A: Action>(
        _ action: ActionID,
        to new: A,
        ifRunning: EditWhileRunning = .next
    ) async throws(SluiceError) -> ActionChange {
        let draft = try book.drafter.draft(new, in: "edited", EnqueueOptions())
        return try await change(
            "SELECT @sluice_edit($1, $2, $3, $4, $5) AS answer",
            [
                "\(action)", draft.kind, draft.payload, "\(draft.version)",
                ifRunning == .next ? "next" : "refuse",
            ]
        )
    }

    /// Replaces an action's payload with JSON text: see `Broker/edit(_:payload:replacing:ifRunning:)`.
    @discardableResult
    public func edit(
        _ action: ActionID,
        payload: String,
        replacing old: String? = nil,
        ifRunning: EditWhileRunning = .next
    ) async throws(SluiceError) -> ActionChange {
        let drafter = book.drafter
        try drafter.checkEdit(payload, of: action)
        guard let details = try await self.action(action).details else { return .missing }
        let context = SealingContext(kind: details.kind, version: details.version)
        let stored = try drafter.seal(payload, context)
        return try await change(
            "SELECT @sluice_edit($1, $2, $3, $4, $5, $6) AS answer",
            [
                "\(action)", context.kind, stored, "\(context.version)",
                ifRunning == .next ? "next" : "refuse", old,
            ]
        )
    }

    /// Schedules an action for later, or makes it due now: see `Broker/reschedule(_:notBefore:)`.
    @discardableResult
    public func reschedule(
        _ action: ActionID,
        notBefore date: Date?
    ) async throws(SluiceError) -> ActionChange {
        try await change(
            "SELECT @sluice_reschedule($1, $2) AS answer",
            ["\(action)", date.map { Timestamp($0).postgresText }]
        )
    }

    /// Sets or clears the expiry of an action: see `Broker/setExpiry(_:_:)`.
    @discardableResult
    public func setExpiry(_ action: ActionID, _ date: Date?) async throws(SluiceError) -> ActionChange {
        try await change(
            "SELECT @sluice_set_expiry($1, $2) AS answer",
            ["\(action)", date.map { Timestamp($0).postgresText }]
        )
    }

    /// Sets or clears the tag of an action: see `Broker/setTag(_:_:)`.
    @discardableResult
    public func setTag(_ action: ActionID, _ tag: String?) async throws(SluiceError) -> ActionChange {
        if let tag { try EnqueueOptions.validate(tag: tag) }
        return try await change("SELECT @sluice_set_tag($1, $2) AS answer", ["\(action)", tag])
    }

    /// Skips the action that has parked a queue, or the head: see `Broker/skipHead(of:only:reason:)`.
    @discardableResult
    public func skipHead(
        of queue: QueueName,
        only action: ActionID? = nil,
        reason: String? = nil
    ) async throws(SluiceError) -> HeadSkip {
        try queue.validate()
        let row = try await write(
            "skipping the head",
            "SELECT * FROM @sluice_skip_head($1, $2, $3)",
            [queue.rawValue, reason, action.map { "\($0)" }]
        ).first
        changed()
        let found = ActionID(rawValue: row?.integer("action") ?? 0)
        switch row?.text("result") {
        case "skipped": return .skipped(found)
        case "running": return .running(found)
        case "other": return .other(found)
        default: return .empty
        }
    }

    /// Ends retry waits and unparks queues: see `Broker/retryNow(_:)`.
    @discardableResult public func retryNow(_ pattern: QueuePattern) async throws(SluiceError) -> Int {
        _ = try pattern.form()
        var (count, before): (Int, String?) = (0, nil)
        repeat {
            let row = try await write(
                "retrying",
                "SELECT changed, again::text AS again FROM @sluice_retry_now($1, $2)",
                [pattern.rawValue, before]
            ).first
            count += Int(row?.integer("changed") ?? 0)
            before = row?["again"]
        } while before != nil
        changed()
        return count
    }

    /// Opens a gate: see `Broker/openGate(_:isKept:spread:)`.
    ///
    /// A gate of a fleet is always kept.
    public func openGate(
        _ name: GateName,
        isKept: Bool = true,
        spread: Duration = .zero
    ) async throws(SluiceError) {
        try name.validate()
        _ = try await act(
            "opening a gate",
            "SELECT @sluice_open_gate($1, $2) AS answer",
            [name.rawValue, spread.postgresText]
        )
    }

    /// Closes a gate: see `Broker/closeGate(_:isKept:for:)`.
    ///
    /// A gate of a fleet is always kept.
    public func closeGate(
        _ name: GateName,
        isKept: Bool = true,
        for duration: Duration? = nil
    ) async throws(SluiceError) {
        try name.validate()
        _ = try await act(
            "closing a gate",
            "SELECT @sluice_close_gate($1, $2) AS answer",
            [name.rawValue, duration?.postgresText]
        )
    }

    /// Holds the queues of a pattern: see `Broker/hold(_:by:reason:for:)`.
    @discardableResult
    public func hold(
        _ pattern: QueuePattern,
        by holder: String,
        reason: String = "",
        for duration: Duration? = nil
    ) async throws(SluiceError) -> HoldID {
        _ = try pattern.form()
        try Hold.validate(holder, reason)
        let number = try await act(
            "holding queues",
            "SELECT @sluice_hold($1, $2, $3, $4) AS answer",
            [pattern.rawValue, holder, reason, duration?.postgresText]
        )
        return HoldID(rawValue: Int64(number) ?? 0)
    }

    /// Adds what an operator did to the audit log: see `Broker/audit(_:by:result:)`.
    public func audit(_ act: String, by person: String, result: String) async throws(SluiceError) {
        let entry = AuditEntry(act, by: person, result: result, at: Date())
        _ = try await self.act(
            "writing the audit log",
            "SELECT @sluice_audit_add($1, $2, $3) AS answer",
            [entry.person, entry.act, entry.result]
        )
    }

    /// Ends a hold: see `Broker/endHold(_:)`.
    @discardableResult public func endHold(_ hold: HoldID) async throws(SluiceError) -> Bool {
        try await act("ending a hold", "SELECT @sluice_end_hold($1) AS answer", ["\(hold.rawValue)"]) == "t"
    }

    /// Ends the holds of a pattern: see `Broker/endHolds(matching:by:)`.
    @discardableResult
    public func endHolds(
        matching pattern: QueuePattern,
        by holder: String? = nil
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
