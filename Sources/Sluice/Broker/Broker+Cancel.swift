/// Cancelling, one action or many.
///
/// An action that waits is removed. One that runs is marked in the file, then its handler's task is
/// cancelled; a success that the handler returns all the same stands, anything else removes the action. Its
/// queue goes on when the handler has returned.
extension Broker {
    /// Cancels an action.
    @discardableResult
    public func cancel(_ action: ActionID) async throws(SluiceError) -> Cancellation {
        cancelled(action, try await store.cancel(action))
    }

    /// Does what is left to do when the file has it.
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

    /// Cancels actions, each for itself.
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

    /// Cancels the actions that have a tag.
    ///
    /// Those that come while it is at work are not meant. They go in batches of several hundred, a
    /// transaction each, and nobody else waits longer than for one of them; an error between two leaves those
    /// cancelled that were.
    ///
    /// - Throws: ``SluiceError/Code/invalidOptions`` when the tag is outside its limits, and errors of the
    ///   file.
    @discardableResult
    public func cancel(tag: String) async throws(SluiceError) -> CancellationCounts {
        try EnqueueOptions.validate(tag: tag)
        return try await cancel(.tag(tag))
    }

    /// Cancels all that waits and runs in the queues of a pattern.
    ///
    /// See ``cancel(tag:)``. Several queues are found by a look at every action of the file; one queue is
    /// not.
    @discardableResult
    public func cancel(queues pattern: QueuePattern) async throws(SluiceError) -> CancellationCounts {
        try await cancel(.queues(pattern.form()))
    }

    private func cancel(_ choice: CancelChoice) async throws(SluiceError) -> CancellationCounts {
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

/// What became of a cancellation.
public enum Cancellation: Sendable, Hashable {
    /// The action waited, and is gone.
    case removed
    /// The action runs: its handler has been told.
    case signalled
    /// There is no such action: it never was, or it has been settled.
    case tooLate
}

/// What became of the cancellation of many actions.
public struct CancellationCounts: Sendable, Hashable {
    /// Actions that waited, and are gone.
    public var removed = 0
    /// Actions that run: their handlers have been told.
    public var signalled = 0
    /// Of the actions that were named one by one, those that are not there.
    ///
    /// By tag and by queue only what is there is found.
    public var tooLate = 0

    /// None.
    public init() {}
}
