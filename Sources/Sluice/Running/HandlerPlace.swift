internal import Synchronization

/// Which broker's handler the current task runs, so that nobody waits for himself.
struct HandlerPlace: Sendable {
    @TaskLocal static var current: HandlerPlace?

    /// Whose handler it is.
    let runner: ObjectIdentifier
    /// What the handler's task is known by.
    ///
    /// A task that the handler has begun has this value too, and may wait for what it likes: only the
    /// handler's own must not.
    let identity: Int?
    let task: AttemptTask

    init(runner: ObjectIdentifier, task: AttemptTask) {
        self.runner = runner
        self.task = task
        identity = withUnsafeCurrentTask { $0?.hashValue }
    }

    /// The place of the handler that the current task itself runs, of a broker's.
    static func own(of runner: AttemptRunner) -> HandlerPlace? {
        guard let place = current, place.runner == ObjectIdentifier(runner) else { return nil }
        return withUnsafeCurrentTask { $0?.hashValue } == place.identity ? place : nil
    }
}

extension Broker {
    /// Traps in a handler of this broker's, for a call that would wait for the handler's own return.
    func ensureNotInHandler(_ call: String) {
        precondition(
            HandlerPlace.own(of: runner) == nil || mutant("wait for oneself"),
            "\(call) was called by a handler of its own broker, and would wait for that handler to "
                + "return: begin a task for it, as in `Task { await attempt.broker.\(call) }`"
        )
    }
}
