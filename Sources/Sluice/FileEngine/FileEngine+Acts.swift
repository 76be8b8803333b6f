/// What senders and operators do, as transactions of the store.
extension FileEngine {
    package func perform(_ act: Act) async throws(SluiceError) -> ActResult {
        // A broker that runs the queues does so with each renewal of its lease.
        if act.kind.dependsOnClaims, !isRunning { try await store.deleteClaimsOfEnded() }
        switch act {
        case .cancel(.action(let action)): return cancelled(action, try await store.cancel(action))
        case .cancel(.tag(let tag)): return try await cancel(.tag(tag, in: nil))
        case .cancel(.queues(let form)): return try await cancel(.queues(form))
        case .move(let action, to: let queue):
            return ActResult(try await store.move(action, to: queue, drafter.options(of: queue)))
        case .moveToFront(let action): return try await moveToFront(action)
        case .edit(let action, to: let payload, replacing: let old, ifRunning: let policy):
            return ActResult(try await edit(action, to: payload, replacing: old, ifRunning: policy))
        case .reschedule(let action, notBefore: let time):
            let change = try await store.reschedule(action, notBefore: time)
            if change == .done { admitScheduledSoon() }
            return ActResult(change)
        case .setExpiry(let action, let time):
            let change = try await store.setExpiry(action, time)
            if let time, change != .missing { scheduleSweep(at: time) }
            return ActResult(change)
        case .setTag(let action, let tag): return ActResult(try await store.setTag(action, tag))
        case .skipHead(of: let queue, only: let action, let reason):
            let rule = routes.admission.queues.saidDiscipline(of: queue)
            return ActResult(try await store.skipHead(of: queue, only: action, error: reason, by: rule))
        case .retryNow(let queues): return try await retryNow(queues)
        case .runNow(let form, let includingRetries): return try await runNow(form, includingRetries)
        case .hold(let pattern, by: let holder, let reason, for: let duration):
            var result = ActResult(.done)
            result.hold = try await store.hold(pattern, by: holder, reason: reason, for: duration)
            return result
        case .endHolds(of: let pattern, by: let holder):
            return ActResult(done: try await store.endHolds(matching: pattern, by: holder))
        case .endHold(let hold): return ActResult(isThere: try await store.endHold(hold))
        case .openGate(let name, let isPersistent, let spread):
            try await store.setGate(name, isOpen: true, isPersistent: isPersistent, spread: spread)
            return ActResult(.done)
        case .closeGate(let name, let isPersistent, for: let duration?):
            try await store.closeGate(name, isPersistent: isPersistent, for: duration)
            return ActResult(.done)
        case .closeGate(let name, let isPersistent, for: nil):
            try await store.setGate(name, isOpen: false, isPersistent: isPersistent, spread: .zero)
            return ActResult(.done)
        case .requeue(let letter): return ActResult(isThere: try await store.requeue(letter))
        case .requeueAtEnd(let letter):
            let action = try await store.requeueAtEnd(letter)
            return action.map { ActResult(.done, $0) } ?? ActResult(.missing)
        case .requeueAll(let filter): return try await requeueAll(filter)
        case .purge(let letter): return ActResult(isThere: try await store.purge(letter))
        case .purgeAll(let filter, diedBefore: let time, keepingNewest: let count):
            return try await purgeAll(filter, diedBefore: time, keepingNewest: count)
        }
    }

    package func audit(_ act: String, by person: String, result: String) async throws(SluiceError) {
        try await store.audit(act, by: person, result: result)
    }
}

extension Act.Kind {
    /// Whether it does something else to an action that runs.
    fileprivate var dependsOnClaims: Bool {
        switch self {
        case .cancel, .cancelAll, .move, .moveToFront, .edit, .reschedule, .setExpiry, .skipHead, .retryNow,
            .runNow:
            true
        case .setTag, .hold, .endHolds, .endHold, .openGate, .closeGate, .requeue, .requeueAtEnd, .requeueAll,
            .purge, .purgeAll:
            false
        }
    }
}

/// Acts on actions.
extension FileEngine {
    func cancelled(_ action: ActionID, _ change: ActionChange) -> ActResult {
        if change == .done { scheduler.hasten(.admitScheduled) }
        if change == .deferred { runner.cancel(action, .removal) }
        return ActResult(change)
    }

    func cancel(_ choice: CancelChoice) async throws(SluiceError) -> ActResult {
        var result = ActResult()
        var page: CancelPage? = CancelPage(through: try await store.lastActionID())
        while let current = page {
            let batch = try await store.cancel(choice, current)
            for action in batch.signalled { runner.cancel(action, .removal) }
            result.done += batch.removed
            result.deferred += batch.signalled.count
            page = batch.next
        }
        scheduler.hasten(.admitScheduled)
        return result
    }

    private func moveToFront(_ action: ActionID) async throws(SluiceError) -> ActResult {
        let change = try await store.moveToFront(action, by: routes.admission.queues)
        if change == .done { scheduler.hasten(.admitScheduled) }
        return ActResult(change)
    }

    private func edit(
        _ action: ActionID,
        to payload: NewPayload,
        replacing old: String?,
        ifRunning: EditWhileRunning
    ) async throws(SluiceError) -> ActionChange {
        let (kind, text, version): (String?, String, Int?)
        switch payload {
        case .typed(let newKind, let stored, let newVersion):
            (kind, text, version) = (newKind, stored, newVersion)
        case .text(let json) where !book.sealsPayloads: (kind, text, version) = (nil, json, nil)
        case .text(let json):
            return try await store.edit(action, replacing: old, ifRunning: ifRunning) {
                [drafter] kind, version in
                try drafter.seal(json, SealingContext(kind: kind, version: version))
            }
        }
        return try await store.edit(
            action,
            kind: kind,
            payload: text,
            version: version,
            replacing: old,
            ifRunning: ifRunning
        )
    }
}

/// Acts on queues and dead letters.
extension FileEngine {
    private func retryNow(_ queues: Act.QueueSelection) async throws(SluiceError) -> ActResult {
        let count =
            switch queues {
            case .matching(let form): try await store.retryNow(form)
            case .named(let names): try await store.retryNow(mutant("restart by name") ? [] : names)
            }
        scheduler.hasten(.admitScheduled)
        return ActResult(done: count)
    }

    private func runNow(
        _ form: QueuePattern.Form,
        _ includingRetries: Bool
    ) async throws(SluiceError) -> ActResult {
        let queues = routes.admission.queues
        let count = try await store.runNow(form, endsWaits: includingRetries) {
            queues.rules(of: $0).isBatched
        }
        if includingRetries { scheduler.hasten(.admitScheduled) }
        return ActResult(done: count)
    }

    private func requeueAll(_ filter: DeadLetterFilter) async throws(SluiceError) -> ActResult {
        var result = ActResult()
        var page: CancelPage? = CancelPage(through: try await store.lastDeadLetter())
        while let current = page {
            let (requeued, next) = try await store.requeue(filter, current)
            result.add(requeued)
            page = next
        }
        return result
    }

    private func purgeAll(
        _ filter: DeadLetterFilter,
        diedBefore time: Timestamp?,
        keepingNewest count: Int
    ) async throws(SluiceError) -> ActResult {
        guard let last = try await store.deadLetter(filter, behind: count) else { return ActResult() }
        var result = ActResult()
        while true {
            let batch = try await store.purge(filter, diedBefore: time, through: last)
            result.done += batch
            if batch < DeadLetters.batchSize { return result }
        }
    }
}
