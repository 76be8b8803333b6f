extension FileEngine {
    package func action(_ id: ActionID) async throws(SluiceError) -> ActionState {
        // It may leave its queue, or return to it, between two reads.
        for isFirst in [true, false] {
            if let state = try await store.state(of: id, routes.admission.queues, reader) { return state }
            guard let end = try await store.end(of: id) else { continue }
            // It may have become a dead letter, or have been put back, since it was read.
            if case .deadLettered = end, isFirst { continue }
            return ActionState(id: id, phase: .ended(end), details: nil)
        }
        return ActionState(id: id, phase: .ended(.unknown), details: nil)
    }

    package func actions(tag: String, limit: Int) async throws(SluiceError) -> [ActionState] {
        try await store.states(tag: tag, limit: limit, routes.admission.queues, reader)
    }

    package func actionSummaries(
        _ form: QueuePattern.Form,
        limit: Int
    ) async throws(SluiceError) -> [ActionSummary] { try await store.actionSummaries(form, limit: limit) }

    package func actionCount() async throws(SluiceError) -> Int { try await store.actionCount() }

    package func failedAttempts(of action: ActionID) async throws(SluiceError) -> [FailedAttempt] {
        try await store.failedAttempts(of: action)
    }

    package func deadLetters(
        _ filter: DeadLetterFilter,
        after last: DeadLetterPlace?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetter] {
        try await store.deadLetters(filter, after: last, limit: limit)
    }

    package func deadLetter(_ action: ActionID) async throws(SluiceError) -> DeadLetter? {
        try await store.deadLetter(action)
    }

    package func gates() async throws(SluiceError) -> [Gate] { try await store.gates() }
    package func holds() async throws(SluiceError) -> [Hold] { try await store.holds() }

    package func auditEntries(limit: Int) async throws(SluiceError) -> [AuditEntry] {
        try await store.auditEntries(limit: limit)
    }
}

/// What the tool and the page show besides.
extension FileEngine {
    package func actionOutlines(
        _ form: QueuePattern.Form,
        limit: Int
    ) async throws(SluiceError) -> [ActionOutline] { try await store.actionOutlines(form, limit: limit) }

    package func deadLetterOutlines(
        _ filter: DeadLetterFilter,
        after last: DeadLetterPlace?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetterOutline] {
        try await store.deadLetterOutlines(filter, after: last, limit: limit)
    }

    package func queueNames(from first: String, limit: Int) async throws(SluiceError) -> [QueueName] {
        try await store.queueNames(from: first, limit: limit)
    }

    package func deadLetterCount() async throws(SluiceError) -> Int { try await store.deadLetterCount() }

    package func keyAndGroups(
        of action: ActionID
    ) async throws(SluiceError) -> (key: String?, groups: ActionGroups) {
        try await store.keyAndGroups(of: action)
    }

    package func exportPage(
        _ form: QueuePattern.Form,
        after last: ActionID,
        limit: Int,
        byteLimit: Int
    ) async throws(SluiceError) -> [TransferredAction] {
        try await store.page(of: form, after: last, limit: limit, byteLimit: byteLimit)
    }

    package func movedActions(
        _ form: QueuePattern.Form
    ) async throws(SluiceError) -> (first: [ActionID], last: [ActionID]) {
        try await store.movedActions(of: form)
    }

    package func changeMarker() async throws(SluiceError) -> Int64 { try await store.commitMarker() }

    package func newActions(since earlier: ActionID?) async throws(SluiceError) -> Arrivals {
        try await store.arrivals(since: earlier)
    }

    package func runnerNames() async throws(SluiceError) -> [String] {
        try await store.runningProcesses().filter { !$0.isDead }.map { "\($0.pid)" }
    }
}
