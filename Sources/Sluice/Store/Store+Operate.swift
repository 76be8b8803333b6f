/// What an operator or the application does to actions and queues from outside.
extension Store {
    /// Ends the retry waits and lifts the parking of the queues that a pattern matches.
    ///
    /// - Returns: The number of queues that waited or were parked.
    package func retryNow(_ form: QueuePattern.Form) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { try $0.waits.retryNow(form) }
    }

    /// The same for the queues that are named.
    func retryNow(_ queues: [QueueName]) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { transaction in
            try queues.reduce(0) { try $0 + transaction.waits.retryNow(.exact($1)) }
        }
    }

    /// Removes an action, or marks it as cancelled while it runs.
    package func cancel(_ action: ActionID) async throws(SluiceError) -> CancelResult {
        try await write(sync: .owed) { try $0.cancellations.cancel(action) }
    }

    /// Puts a dead letter back into its queue at its old place, with no attempt spent.
    ///
    /// - Returns: Whether there is such a dead letter.
    package func requeue(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await write(sync: .owed) { try $0.deadLetters.requeue(action) }
    }
}

/// Cancelling many actions, a batch at a time.
extension Store {
    /// Cancels a batch of what is chosen.
    package func cancel(
        _ choice: CancelChoice,
        _ page: CancelPage
    ) async throws(SluiceError) -> CancelBatch {
        try await write(sync: .owed) { try $0.cancellations.cancel(choice, page) }
    }

    /// The last number given: what comes later is not meant by who cancels now.
    package func lastActionID() async throws(SluiceError) -> ActionID {
        try await write(sync: .later) { try $0.core.lastActionID() }
    }
}

/// Batches: queues whose actions start together.
extension Store {
    /// Starts the batches of queues that have something to start.
    ///
    /// - Parameters:
    ///   - endsWaits: What waits for a retry is tried now too.
    ///   - isBatched: Whether a queue runs in batches; of one whose batch gathers the file says so.
    package func runNow(
        _ form: QueuePattern.Form,
        endsWaits: Bool = false,
        _ isBatched: @escaping @Sendable (QueueName) -> Bool
    ) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { transaction in
            let waiting = endsWaits ? try transaction.waits.endWaits(form) : []
            return try transaction.batches.runNow(form, isBatched).union(waiting).count
        }
    }
}
