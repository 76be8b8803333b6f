/// Runs jobs one after the other.
package protocol WorkQueue: AnyObject, Sendable {
    func add(_ job: @escaping @Sendable () -> Void)
    /// Makes a timer whose jobs run on the queue.
    func timer(_ fired: @escaping @Sendable () -> Void) -> any WorkTimer
    /// Keeps jobs waiting, after the one that runs, until ``resume()``.
    func suspend()
    func resume()
    /// Traps unless it is called by a job of the queue.
    func checkIsCurrent()
}

extension WorkQueue {
    /// Runs work on the queue, and returns its result.
    package func run<Output: Sendable>(_ work: @escaping @Sendable () -> Output) async -> Output {
        await withCheckedContinuation { continuation in
            add { continuation.resume(returning: work()) }
        }
    }
}
