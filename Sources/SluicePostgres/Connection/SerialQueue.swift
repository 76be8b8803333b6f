#if PostgreSQL
internal import Sluice

/// Runs an actor's jobs on a queue, where they may block.
final class SerialQueue: SerialExecutor {
    let queue: any WorkQueue

    init(_ queue: any WorkQueue) { self.queue = queue }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.add { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { queue.checkIsCurrent() }
}
#endif
