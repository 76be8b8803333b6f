/// Cancelling, one action or many.
///
/// A waiting action is removed. A running action is marked in the file, then its handler's task is cancelled.
/// If the handler returns success all the same, the success counts; any other result removes the action.
extension Broker {
    /// Cancels an action.
    @discardableResult
    public func cancel(_ action: ActionID) async throws(SluiceError) -> Cancellation {
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

    /// Cancels the actions that have a tag, except those enqueued during the call.
    ///
    /// It works in batches of several hundred, each in a transaction of its own; after an error, earlier ones
    /// remain cancelled. Throws ``SluiceError/Code/invalidOptions`` when the tag is outside its limits.
    @discardableResult
    public func cancel(tag: String) async throws(SluiceError) -> CancellationCounts {
        try EnqueueOptions.validate(tag: tag)
        return try await cancel(.tag(tag, in: nil))
    }

    /// Cancels all actions in the queues of a pattern, as ``cancel(tag:)``; a prefix scans the whole file.
    @discardableResult
    public func cancel(queues pattern: QueuePattern) async throws(SluiceError) -> CancellationCounts {
        try await cancel(.queues(pattern.form()))
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
}
