/// Cancelling, one action or many.
///
/// A waiting action is removed. A running action is marked in the file, then its handler's task is cancelled.
/// If the handler returns success all the same, the success counts; any other result removes the action.
extension Broker {
    /// Cancels an action.
    @discardableResult
    public func cancel(_ action: ActionID) async throws(SluiceError) -> Cancellation {
        Cancellation(try await perform(.cancel(.action(action))).outcome)
    }

    /// Cancels the actions that have a tag, except those enqueued during the call.
    ///
    /// It works in batches of several hundred, each in a transaction of its own; after an error, earlier ones
    /// remain cancelled. Throws ``SluiceError/Code/invalidOptions`` when the tag is outside its limits.
    @discardableResult
    public func cancel(tag: String) async throws(SluiceError) -> CancellationCounts {
        CancellationCounts(try await perform(.cancel(.tag(tag))))
    }

    /// Cancels all actions in the queues of a pattern, as ``cancel(tag:)``; a prefix scans the whole file.
    @discardableResult
    public func cancel(queues pattern: QueuePattern) async throws(SluiceError) -> CancellationCounts {
        CancellationCounts(try await perform(.cancel(.queues(pattern.form()))))
    }

    /// Cancels several actions, each in a transaction of its own: see ``cancel(_:)``.
    @discardableResult
    public func cancel(actions: some Sequence<ActionID>) async throws(SluiceError) -> CancellationCounts {
        var counts = CancellationCounts()
        for action in Array(actions) {
            switch try await cancel(action) {
            case .removed: counts.removed += 1
            case .signalled: counts.signalled += 1
            case .tooLate: counts.tooLate += 1
            }
        }
        return counts
    }
}
