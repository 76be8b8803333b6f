/// Runs tasks on a queue of the engine's own, off the cooperative pool, whose threads callers may block.
package final class QueueExecutor: TaskExecutor {
    private let queue: any WorkQueue

    package init(_ queue: any WorkQueue) { self.queue = queue }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.add { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
