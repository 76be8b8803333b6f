extension Store {
    /// Ends the retry waits and lifts the parking of queues; returns how many waited or were parked.
    package func retryNow(_ form: QueuePattern.Form) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { try $0.waits.retryNow(form) }
    }

    func retryNow(_ queues: [QueueName]) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { transaction in
            try queues.reduce(0) { try $0 + transaction.waits.retryNow(.exact($1)) }
        }
    }

    package func cancel(_ action: ActionID) async throws(SluiceError) -> ActionChange {
        try await write(sync: .owed) { try $0.cancellations.cancel(action) }
    }

    /// Requeues a dead letter at its old place, with no attempt spent; returns whether it exists.
    package func requeue(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await write(sync: .owed) { try $0.deadLetters.requeue(action) }
    }

    func cancel(_ choice: CancelChoice, _ page: CancelPage) async throws(SluiceError) -> CancelBatch {
        try await write(sync: .owed) { try $0.cancellations.cancel(choice, page) }
    }

    package func lastActionID() async throws(SluiceError) -> ActionID {
        try await write(sync: .later) { try $0.core.lastActionID() }
    }

    /// Starts the batches of queues with waiting actions, and returns the number of queues.
    ///
    /// `isBatched` says whether a queue runs in batches; for a batch that gathers, the file shows it.
    package func runNow(
        _ form: QueuePattern.Form,
        endsWaits: Bool = false,
        _ isBatched: @escaping @Sendable (QueueName) -> Bool
    ) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { transaction in
            let waiting = endsWaits ? try transaction.waits.endWaits(form) : []
            return try transaction.batches.runNow(form, ended: waiting, isBatched).union(waiting).count
        }
    }
}
