extension Scheduler {
    /// What the scheduler asks of its broker.
    ///
    /// Called without the lock.
    final class Delegate: Sendable {
        /// A claim is in the file that goes with a settling: its handler starts when the task goes on.
        ///
        /// Called before any later commit.
        let announce: @Sendable (ClaimedAction) -> Void
        /// A claim is in the file: start the handler.
        let start: @Sendable (ClaimedAction, Route) -> Void
        /// The attempt's time is over.
        let timeOut: @Sendable (_ claim: Int64) -> Void
        let perform: @Sendable (Chore) -> Void
        /// A claim has ended without a run.
        let waits: @Sendable (QueueID) -> Void
        /// Nothing is to be done at the moment, whatever waits for a time.
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

        /// Nobody: handlers are not started, and nothing is performed.
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
