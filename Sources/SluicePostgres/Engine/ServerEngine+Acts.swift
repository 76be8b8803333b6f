#if PostgreSQL
package import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Each act is a function of the schema.
extension ServerEngine {
    package func perform(_ act: Act) async throws(SluiceError) -> ActResult {
        switch act {
        case .cancel(.action(let action)): return try await cancel(action)
        case .cancel(.tag(let tag)):
            return try await cancelAll("@sluice_cancel_tag($1, coalesce($2::bigint, 0), $3)", tag)
        case .cancel(.queues(let form)):
            return try await cancelAll("@sluice_cancel_queues($1, $2, $3)", form.rawValue)
        case .move(let action, to: let queue): return try await move(action, to: queue)
        case .moveToFront(let action): return try await change("@sluice_move_to_front($1)", ["\(action)"])
        case .edit(let action, to: let payload, replacing: let old, ifRunning: let policy):
            return try await edit(action, to: payload, replacing: old, ifRunning: policy)
        case .reschedule(let action, notBefore: let time):
            return try await change("@sluice_reschedule($1, $2)", ["\(action)", time?.postgresText])
        case .setExpiry(let action, let time):
            return try await change("@sluice_set_expiry($1, $2)", ["\(action)", time?.postgresText])
        case .setTag(let action, let tag):
            return try await change("@sluice_set_tag($1, $2)", ["\(action)", tag])
        case .skipHead(of: let queue, only: let action, let reason):
            return try await skipHead(of: queue, only: action, reason: reason)
        case .retryNow(let queues): return try await retryNow(queues)
        case .runNow:
            throw EngineFeature.batches.error
        case .hold(let pattern, by: let holder, let reason, for: let duration):
            return try await hold(pattern, by: holder, reason: reason, for: duration)
        case .endHolds(of: let pattern, by: let holder): return try await endHolds(of: pattern, by: holder)
        case .endHold(let hold):
            return try await whether("ending a hold", "@sluice_end_hold($1)", "\(hold.rawValue)")
        // Each gate is persistent.
        case .openGate(let name, isPersistent: _, let spread):
            return try await setGate(name, "opening a gate", "@sluice_open_gate($1, $2)", spread)
        case .closeGate(let name, isPersistent: _, for: let duration):
            return try await setGate(name, "closing a gate", "@sluice_close_gate($1, $2)", duration)
        case .requeue(let letter):
            return try await whether("putting back", "@sluice_requeue($1)", "\(letter)")
        case .requeueAtEnd(let letter): return try await requeueAtEnd(letter)
        case .requeueAll(let filter): return try await requeueAll(filter)
        case .purge(let letter): return try await whether("purging", "@sluice_purge($1)", "\(letter)")
        case .purgeAll(let filter, diedBefore: let time, keepingNewest: let count):
            return try await purgeAll(filter, diedBefore: time, keepingNewest: count)
        }
    }

    private func endHolds(
        of pattern: QueuePattern,
        by holder: String?
    ) async throws(SluiceError) -> ActResult {
        let values = [pattern.rawValue, holder]
        let count = try await answer("ending holds", "@sluice_end_holds($1, $2)", values)
        return ActResult(done: Int(count) ?? 0)
    }

    private func setGate(
        _ gate: GateName,
        _ task: String,
        _ call: String,
        _ time: Duration?
    ) async throws(SluiceError) -> ActResult {
        _ = try await answer(task, call, [gate.rawValue, time?.postgresText])
        return ActResult(.done)
    }

    private func requeueAtEnd(_ letter: ActionID) async throws(SluiceError) -> ActResult {
        let answer = try await answer("putting back", "@sluice_requeue_at_end($1)", ["\(letter)"])
        return Int64(answer).map { ActResult(.done, ActionID(rawValue: $0)) } ?? ActResult(.missing)
    }

    package func audit(_ act: String, by person: String, result: String) async throws(SluiceError) {
        let entry = AuditEntry(act, by: person, result: result, at: Date())
        let values = [entry.person, entry.act, entry.result]
        _ = try await answer("writing the audit log", "@sluice_audit_add($1, $2, $3)", values)
    }

    /// Calls a function that changes something, and returns its value as text.
    private func answer(
        _ task: String,
        _ call: String,
        _ parameters: [String?]
    ) async throws(SluiceError) -> String {
        let rows = try await write(task, "SELECT \(call) AS answer", parameters)
        changed()
        return rows.first?["answer"] ?? ""
    }

    /// Calls a function that answers whether the subject was there.
    private func whether(
        _ task: String,
        _ call: String,
        _ subject: String
    ) async throws(SluiceError) -> ActResult {
        ActResult(isThere: try await answer(task, call, [subject]) == "t")
    }

    /// Calls a function that answers what became of an action.
    private func change(_ call: String, _ parameters: [String?]) async throws(SluiceError) -> ActResult {
        switch try await answer("changing an action", call, parameters) {
        case "done": ActResult(.done)
        case "deferred": ActResult(.deferred)
        case "running": ActResult(.running)
        case "conflict": ActResult(.conflict)
        default: ActResult(.missing)
        }
    }
}

/// Acts on actions.
extension ServerEngine {
    private func cancel(_ action: ActionID) async throws(SluiceError) -> ActResult {
        switch try await answer("cancelling", "@sluice_cancel($1)", ["\(action)"]) {
        case "removed":
            loop.noteEnd(of: action, .removed)
            return ActResult(.done)
        case "signalled":
            runner.cancel(action, .removal)
            return ActResult(.deferred)
        default: return ActResult(.missing)
        }
    }

    private func cancelAll(_ call: String, _ subject: String) async throws(SluiceError) -> ActResult {
        var result = ActResult()
        var (next, last): (String?, String?)
        repeat {
            let rows = try await write("cancelling", "SELECT * FROM \(call)", [subject, next, last])
            guard let row = rows.first else { break }
            let signalled = PostgresArray.numbers(in: row.text("signalled")).compactMap { $0 }
            for id in signalled { runner.cancel(ActionID(rawValue: id), .removal) }
            result.deferred += signalled.count
            result.done += Int(row.integer("removed") ?? 0)
            (next, last) = (row["next"], row["last"])
        } while next != nil
        changed()
        return result
    }

    private func move(_ action: ActionID, to queue: QueueName) async throws(SluiceError) -> ActResult {
        let options = book.drafter.options(of: queue)
        return try await change(
            "@sluice_move($1, $2, $3, $4)",
            [
                "\(action)", queue.rawValue, options?.maximumDepth.map { "\($0)" },
                options?.sortKey.map { $0.rawValue },
            ]
        )
    }

    private func edit(
        _ action: ActionID,
        to payload: NewPayload,
        replacing old: String?,
        ifRunning: EditWhileRunning
    ) async throws(SluiceError) -> ActResult {
        let (kind, text, version): (String, String, Int)
        switch payload {
        case .typed(let newKind, let stored, let newVersion):
            (kind, text, version) = (newKind, stored, newVersion)
        case .text(let json):
            guard let details = try await self.action(action).details else { return ActResult(.missing) }
            (kind, version) = (details.kind, details.version)
            text = try book.drafter.seal(json, SealingContext(kind: kind, version: version))
        }
        return try await change(
            "@sluice_edit($1, $2, $3, $4, $5, $6)",
            ["\(action)", kind, text, "\(version)", ifRunning == .forNextAttempt ? "next" : "refuse", old]
        )
    }
}

/// Acts on queues.
extension ServerEngine {
    private func skipHead(
        of queue: QueueName,
        only action: ActionID?,
        reason: String?
    ) async throws(SluiceError) -> ActResult {
        let row = try await write(
            "skipping the head",
            "SELECT * FROM @sluice_skip_head($1, $2, $3)",
            [queue.rawValue, reason, action.map { "\($0)" }]
        ).first
        // After the report: observers hear of the skip before this process starts the next action.
        defer { changed() }
        let found = ActionID(rawValue: row?.integer("action") ?? 0)
        switch row?.text("result") {
        case "skipped":
            var event = QueueEvent(.deadLettered, at: options.clock.now.date, queue: queue)
            (event.action, event.actionKind) = (found, row?["kind"])
            (event.cause, event.error) = (.skipped, row?["error"])
            loop.report([event])
            return ActResult(.done, found)
        case "running": return ActResult(.running, found)
        case "other": return ActResult(.conflict, found)
        default: return ActResult(.missing)
        }
    }

    private func retryNow(_ queues: Act.QueueSelection) async throws(SluiceError) -> ActResult {
        switch queues {
        case .matching(let form): return try await retryNow(form)
        case .named(let names):
            var result = ActResult()
            for name in names { result.add(try await retryNow(.exact(name))) }
            return result
        }
    }

    private func retryNow(_ form: QueuePattern.Form) async throws(SluiceError) -> ActResult {
        var (result, before): (ActResult, String?) = (ActResult(), nil)
        repeat {
            let row = try await write(
                "retrying",
                "SELECT changed, again::text AS again FROM @sluice_retry_now($1, $2)",
                [form.rawValue, before]
            ).first
            result.done += Int(row?.integer("changed") ?? 0)
            before = row?["again"]
        } while before != nil
        changed()
        return result
    }

    private func hold(
        _ pattern: QueuePattern,
        by holder: String,
        reason: String,
        for duration: Duration?
    ) async throws(SluiceError) -> ActResult {
        let number = try await answer(
            "holding queues",
            "@sluice_hold($1, $2, $3, $4)",
            [pattern.rawValue, holder, reason, duration?.postgresText]
        )
        var result = ActResult(.done)
        result.hold = Int64(number).map { HoldID(rawValue: $0) }
        return result
    }
}

/// Acts on dead letters.
extension ServerEngine {
    private func requeueAll(_ filter: DeadLetterFilter) async throws(SluiceError) -> ActResult {
        var result = ActResult()
        var (next, last): (String?, String?)
        repeat {
            let row = try await write(
                "putting back",
                "SELECT * FROM @sluice_requeue_all($1, $2, coalesce($3::bigint, 0), $4)",
                [filter.form.rawValue, filter.cause?.rawValue, next, last]
            ).first
            var batch = ActResult(done: Int(row?.integer("requeued") ?? 0))
            batch.keptCount = Int(row?.integer("kept") ?? 0)
            let reason = "its queue has another type of sort key now; wait until it is empty"
            batch.firstKept = row?.integer("first_kept").map { (ActionID(rawValue: $0), reason) }
            result.add(batch)
            (next, last) = (row?["next"], row?["last"])
        } while next != nil
        changed()
        return result
    }

    private func purgeAll(
        _ filter: DeadLetterFilter,
        diedBefore time: Timestamp?,
        keepingNewest count: Int
    ) async throws(SluiceError) -> ActResult {
        var result = ActResult()
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
            result.done += Int(row?.integer("purged") ?? 0)
            (lastDiedAt, last) = (row?["last_died_at"], row?["last"])
        } while last != nil
        changed()
        return result
    }
}
#endif
