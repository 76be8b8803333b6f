/// The handler that the current task runs, so that no handler waits for itself.
struct HandlerPlace: Sendable {
    @TaskLocal static var current: HandlerPlace?

    let runner: ObjectIdentifier
    /// Identifies the handler's own task: a task that it starts inherits this value, but may wait.
    let identity: Int?
    let task: AttemptTask

    init(runner: ObjectIdentifier, task: AttemptTask) {
        (self.runner, self.task) = (runner, task)
        identity = withUnsafeCurrentTask { $0?.hashValue }
    }

    /// Returns the place of the current task's own handler, if it belongs to this runner.
    static func own(of runner: AttemptRunner) -> HandlerPlace? {
        guard let place = current, place.runner == ObjectIdentifier(runner) else { return nil }
        return withUnsafeCurrentTask { $0?.hashValue } == place.identity ? place : nil
    }
}

extension AttemptRunner {
    /// The action whose handler the current task runs, if the handler belongs to this runner.
    package var ownAction: ClaimedAction? { HandlerPlace.own(of: self)?.task.current }

    /// Traps in a handler of this broker, for a call that would wait for the handler's own return.
    package func ensureNotInHandler(_ call: String, ofQueuesOf form: QueuePattern.Form? = nil) {
        guard let own = ownAction, form?.matches(own.queue) ?? true else { return }
        precondition(
            mutant("wait for oneself"),
            "\(call) was called by a handler of its own broker, and would wait for that handler to "
                + "return: start a task for it, as in `Task { await attempt.broker.\(call) }`"
        )
    }
}
