extension Scheduler {
    /// The scheduler's calls to its broker, made without the lock.
    final class Delegate: Sendable {
        /// Reports a claim committed with a settling, before later commits: its task goes on with it.
        let announce: @Sendable (ClaimedAction) -> Void
        let start: @Sendable (ClaimedAction, Route) -> Void
        let timeOut: @Sendable (_ claim: Int64) -> Void
        let perform: @Sendable (Chore) -> Void
        /// Reports that a claim has ended without a run.
        let waits: @Sendable (QueueID) -> Void
        /// Reports a closed gate that has kept a head from starting.
        let meets: @Sendable (GateName) -> Void
        /// Reports a head without a route.
        let lacksRoute: @Sendable () -> Void
        /// Reports that nothing can be done now, though actions may wait for a time.
        let rests: @Sendable () -> Void
        let stopped: @Sendable () -> Void

        init(
            announce: @escaping @Sendable (ClaimedAction) -> Void = { _ in },
            start: @escaping @Sendable (ClaimedAction, Route) -> Void = { _, _ in },
            timeOut: @escaping @Sendable (_ claim: Int64) -> Void = { _ in },
            perform: @escaping @Sendable (Chore) -> Void = { _ in },
            waits: @escaping @Sendable (QueueID) -> Void = { _ in },
            meets: @escaping @Sendable (GateName) -> Void = { _ in },
            lacksRoute: @escaping @Sendable () -> Void = {},
            rests: @escaping @Sendable () -> Void = {},
            stopped: @escaping @Sendable () -> Void = {}
        ) {
            (self.announce, self.start, self.timeOut, self.perform) = (announce, start, timeOut, perform)
            (self.waits, self.meets, self.lacksRoute) = (waits, meets, lacksRoute)
            (self.rests, self.stopped) = (rests, stopped)
        }
    }
}
