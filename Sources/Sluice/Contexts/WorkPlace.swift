/// Where the engine's own work runs, and the time by which it waits for locks, disks and other processes.
///
/// An application has the system's (``SystemPlace``). In tests it may be a simulated one, in which one thing
/// runs at a time and a seed decides which. Tasks are not made here: they run on ``EngineContext/executor``.
package protocol WorkPlace: AnyObject, Sendable {
    /// Makes a queue that runs its jobs one after the other, on threads that may block.
    ///
    /// - Parameter isUrgent: Whether somebody waits for its jobs.
    func queue(_ label: String, isUrgent: Bool) -> any WorkQueue
    /// Makes a signal for which a thread waits.
    func signal() -> any WorkSignal
    /// Makes a watch on the writes to a file; `nil` if there is none to be had.
    ///
    /// - Parameters:
    ///   - queue: Where `fired` is called, and where the watch is used.
    ///   - fired: Called at the next write after each time that the watch is set.
    func watch(
        _ path: String,
        on queue: any WorkQueue,
        fired: @escaping @Sendable () -> Void
    ) -> (any WorkWatch)?
    /// The time since some fixed point, which nobody sets.
    var now: Duration { get }
    /// Shortens a wait by up to a half, by chance, so that waits that begin together do not end together.
    func spread(_ time: Duration) -> Duration
    /// Waits for a time, or until the task is cancelled, which it throws.
    func sleep(for time: Duration) async throws
}
