internal import Synchronization

/// Which handlers are cancelled: for a time-out, a removed action, or a stop.
extension AttemptRunner {
    /// Cancels the handler of a claim whose time is over.
    func timeOut(_ claim: Int64) {
        let task = state.withLock { state in
            guard let task = state.tasks[claim] else {
                state.early[claim] = .timeout
                return nil as AttemptTask?
            }
            state.statistics.timeouts += 1
            return task
        }
        task?.cancel(claim, .timeout)
    }

    /// Cancels the handlers of actions that other connections have deleted or cancelled.
    func cancelRuns(endedBy changes: [ForeignChange]) {
        for change in changes where change.endsRun {
            if let action = change.action { cancel(action, .removal) }
        }
    }

    /// Cancels the handler of an action, if it runs or is about to.
    func cancel(_ action: ActionID, _ reason: CancelReason) {
        let running = state.withLock { state -> (claim: Int64, task: AttemptTask)? in
            guard let claim = state.claims[action] else { return nil }
            guard let task = state.tasks[claim] else {
                state.early[claim] = reason
                return nil
            }
            return (claim, task)
        }
        if let running { running.task.cancel(running.claim, reason) }
    }

    /// Cancels the handlers of all current claims, but not of later ones.
    func cancelClaimed(_ reason: CancelReason) {
        for action in state.withLock({ Array($0.claims.keys) }) { cancel(action, reason) }
    }

    /// Cancels every handler that runs.
    func cancelAll(_ reason: CancelReason) {
        let tasks = state.withLock { state in
            state.isCancelling = true
            return state.tasks
        }
        for (claim, task) in tasks { task.cancel(claim, reason) }
    }

    /// Ends the cancelling, for the next run of the broker.
    func reset() {
        state.withLock { state in
            state.isCancelling = false
            state.early = [:]
        }
    }
}
