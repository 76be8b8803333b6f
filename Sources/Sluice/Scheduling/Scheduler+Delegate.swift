extension Scheduler {
    /// The scheduler's calls to its broker, made without the lock.
    final class Delegate: Sendable {
        /// Reports a claim committed with a settling, before later commits: the continued task starts its
        /// handler.
        let announce: @Sendable (ClaimedAction) -> Void
        /// Starts the handler of a committed claim.
        let start: @Sendable (ClaimedAction, Route) -> Void
        /// Reports that the attempt's time is over.
        let timeOut: @Sendable (_ claim: Int64) -> Void
        let perform: @Sendable (Chore) -> Void
        /// Reports that a claim has ended without a run.
        let waits: @Sendable (QueueID) -> Void
        /// Reports that nothing can be done now, though actions may wait for a time.
        let rests: @Sendable () -> Void
        let stopped: @Sendable () -> Void

        init(
            announce: @escaping @Sendable (ClaimedAction) -> Void,
            start: @escaping @Sendable (ClaimedAction, Route) -> Void,
            timeOut: @escaping @Sendable (_ claim: Int64) -> Void,
            perform: @escaping @Sendable (Chore) -> Void,
            waits: @escaping @Sendable (QueueID) -> Void,
            rests: @escaping @Sendable () -> Void,
            stopped: @escaping @Sendable () -> Void
        ) {
            self.announce = announce
            self.start = start
            self.timeOut = timeOut
            self.perform = perform
            self.waits = waits
            self.rests = rests
            self.stopped = stopped
        }

        /// A delegate that starts no handlers and performs nothing.
        static let none = Delegate(
            announce: { _ in },
            start: { _, _ in },
            timeOut: { _ in },
            perform: { _ in },
            waits: { _ in },
            rests: {},
            stopped: {}
        )
    }
}
