internal import Synchronization

extension AttemptRunner.State {
    /// Returns the task of a claim to cancel; if its handler is yet to begin, notes the reason for then.
    fileprivate mutating func taskToCancel(_ claim: Int64, _ reason: CancelReason) -> AttemptTask? {
        if let task = tasks[claim] { return task }
        early[claim] = reason
        return nil
    }
}

extension AttemptRunner {
    package func timeOut(_ claim: Int64) {
        let task = state.withLock { state -> AttemptTask? in
            guard let task = state.taskToCancel(claim, .timeout) else { return nil }
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

    /// Cancels the handler of a claim, if it runs or is about to.
    package func cancel(claim: Int64, _ reason: CancelReason) {
        let task = state.withLock { $0.claims.values.contains(claim) ? $0.taskToCancel(claim, reason) : nil }
        task?.cancel(claim, reason)
    }

    /// Cancels the handler of an action, if it runs or is about to.
    package func cancel(_ action: ActionID, _ reason: CancelReason) {
        let running = state.withLock { state -> (claim: Int64, task: AttemptTask)? in
            guard let claim = state.claims[action] else { return nil }
            return state.taskToCancel(claim, reason).map { (claim: claim, task: $0) }
        }
        if let running { running.task.cancel(running.claim, reason) }
    }

    /// Cancels the handlers of all current claims, but not of later ones.
    package func cancelClaimed(_ reason: CancelReason) {
        for action in state.withLock({ Array($0.claims.keys) }) { cancel(action, reason) }
    }

    /// Cancels all handlers, also those that begin before the next run of the broker.
    package func cancelAll(_ reason: CancelReason) {
        let tasks = state.withLock { state in
            state.isCancelling = true
            return state.tasks
        }
        for (claim, task) in tasks { task.cancel(claim, reason) }
    }

    /// Ends the cancelling, for the next run of the broker.
    package func reset() { state.withLock { ($0.isCancelling, $0.early) = (false, [:]) } }
}
