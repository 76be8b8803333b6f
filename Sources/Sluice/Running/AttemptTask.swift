internal import Synchronization

/// The task that runs handlers one after the other; once cancelled, it ends with the cancelled attempt.
final class AttemptTask: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var current: ClaimedAction
        var reason: CancelReason?
    }

    private let state: Mutex<State>

    init(_ action: ClaimedAction) { state = Mutex(State(current: action)) }

    var current: ClaimedAction { state.withLock { $0.current } }
    var reason: CancelReason? { state.withLock { $0.reason } }

    /// Sets the task, which may have been cancelled before it existed.
    func attach(_ task: Task<Void, Never>) {
        let isCancelled = state.withLock { state in
            state.task = task
            return state.reason != nil
        }
        if isCancelled { task.cancel() }
    }

    /// Cancels the attempt, if it is the running one; the first reason stays.
    func cancel(_ claim: Int64, _ reason: CancelReason) {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard state.current.receipt.claim == claim, state.reason == nil else { return nil }
            state.reason = reason
            return state.task
        }
        task?.cancel()
    }

    /// Continues with another attempt; returns `false` if the task has been cancelled and must end.
    func proceed(to action: ClaimedAction) -> Bool {
        state.withLock { state in
            guard state.reason == nil else { return false }
            state.current = action
            return true
        }
    }
}
