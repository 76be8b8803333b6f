/// What operators and senders do to actions and queues that are there.
extension FileEngine {
    package func cancel(_ action: ActionID) async throws(SluiceError) -> Cancellation {
        cancelled(action, try await store.cancel(action))
    }

    func cancelled(_ action: ActionID, _ result: CancelResult) -> Cancellation {
        switch result {
        case .removed:
            scheduler.hasten(.admitScheduled)
            return .removed
        case .missing: return .tooLate
        case .marked:
            runner.cancel(action, .removal)
            return .signalled
        }
    }

    package func cancel(tag: String) async throws(SluiceError) -> CancellationCounts {
        try await cancel(.tag(tag, in: nil))
    }

    package func cancel(queues form: QueuePattern.Form) async throws(SluiceError) -> CancellationCounts {
        try await cancel(.queues(form))
    }

    func cancel(_ choice: CancelChoice) async throws(SluiceError) -> CancellationCounts {
        var counts = CancellationCounts()
        var page: CancelPage? = CancelPage(through: try await store.lastActionID())
        while let current = page {
            let batch = try await store.cancel(choice, current)
            for action in batch.signalled { runner.cancel(action, .removal) }
            counts.removed += batch.removed
            counts.signalled += batch.signalled.count
            page = batch.next
        }
        scheduler.hasten(.admitScheduled)
        return counts
    }

    package func move(_ action: ActionID, to queue: QueueName) async throws(SluiceError) -> ActionChange {
        try await store.move(action, to: queue, drafter.options(of: queue))
    }

    package func moveToFront(_ action: ActionID) async throws(SluiceError) -> ActionChange {
        let change = try await store.moveToFront(action, by: routes.admission.queues)
        if change == .done { scheduler.hasten(.admitScheduled) }
        return change
    }

    package func edit(
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

    package func reschedule(
        _ action: ActionID,
        notBefore: Timestamp?
    ) async throws(SluiceError) -> ActionChange {
        let change = try await store.reschedule(action, notBefore: notBefore)
        if change == .done { admitScheduledSoon() }
        return change
    }

    package func setExpiry(
        _ action: ActionID,
        _ time: Timestamp?
    ) async throws(SluiceError) -> ActionChange {
        let change = try await store.setExpiry(action, time)
        if let time, change != .missing { scheduleSweep(at: time) }
        return change
    }

    package func setTag(_ action: ActionID, _ tag: String?) async throws(SluiceError) -> ActionChange {
        try await store.setTag(action, tag)
    }

    package func skipHead(
        of queue: QueueName,
        only action: ActionID?,
        reason: String?
    ) async throws(SluiceError) -> HeadSkip {
        let discipline = routes.admission.queues.saidDiscipline(of: queue)
        return try await store.skipHead(of: queue, only: action, error: reason, by: discipline)
    }

    package func retryNow(_ form: QueuePattern.Form) async throws(SluiceError) -> Int {
        let count = try await store.retryNow(form)
        scheduler.hasten(.admitScheduled)
        return count
    }

    package func retryNow(queues names: [QueueName]) async throws(SluiceError) -> Int {
        let count = try await store.retryNow(mutant("restart by name") ? [] : names)
        scheduler.hasten(.admitScheduled)
        return count
    }

    package func runNow(
        _ form: QueuePattern.Form,
        includingRetries: Bool
    ) async throws(SluiceError) -> Int {
        let queues = routes.admission.queues
        let count = try await store.runNow(form, endsWaits: includingRetries) {
            queues.rules(of: $0).isBatched
        }
        if includingRetries { scheduler.hasten(.admitScheduled) }
        return count
    }
}

/// Gates, holds and the audit log.
extension FileEngine {
    package func openGate(
        _ name: GateName,
        isKept: Bool,
        spread: Duration
    ) async throws(SluiceError) {
        try await store.setGate(name, isOpen: true, isKept: isKept, spread: spread)
    }

    package func closeGate(
        _ name: GateName,
        isKept: Bool,
        for duration: Duration?
    ) async throws(SluiceError) {
        if let duration { return try await store.closeGate(name, isKept: isKept, for: duration) }
        try await store.setGate(name, isOpen: false, isKept: isKept, spread: .zero)
    }

    package func hold(
        _ pattern: QueuePattern,
        by holder: String,
        reason: String,
        for duration: Duration?
    ) async throws(SluiceError) -> HoldID {
        try await store.hold(pattern, by: holder, reason: reason, for: duration)
    }

    package func endHold(_ hold: HoldID) async throws(SluiceError) -> Bool { try await store.endHold(hold) }

    package func endHolds(
        matching pattern: QueuePattern,
        by holder: String?
    ) async throws(SluiceError) -> Int { try await store.endHolds(matching: pattern, by: holder) }

    package func audit(_ act: String, by person: String, result: String) async throws(SluiceError) {
        try await store.audit(act, by: person, result: result)
    }
}

/// Dead letters.
extension FileEngine {
    package func requeue(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await store.requeue(action)
    }

    package func requeueAtEnd(_ action: ActionID) async throws(SluiceError) -> ActionID? {
        try await store.requeueAtEnd(action)
    }

    package func requeueLetters(_ filter: DeadLetterFilter) async throws(SluiceError) -> RequeuedLetters {
        var letters = RequeuedLetters()
        var page: CancelPage? = CancelPage(through: try await store.lastDeadLetter())
        while let current = page {
            let (requeued, next) = try await store.requeue(filter, current)
            letters.add(requeued)
            page = next
        }
        return letters
    }

    package func purge(_ action: ActionID) async throws(SluiceError) -> Bool { try await store.purge(action) }

    package func purgeDeadLetters(
        _ filter: DeadLetterFilter,
        diedBefore time: Timestamp?,
        keepingNewest count: Int
    ) async throws(SluiceError) -> Int {
        guard let last = try await store.deadLetter(filter, behind: count) else { return 0 }
        var purged = 0
        while true {
            let batch = try await store.purge(filter, diedBefore: time, through: last)
            purged += batch
            if batch < DeadLetters.batchSize { return purged }
        }
    }
}
