public import Dispatch

/// Runs tasks on a dispatch queue, with the queue's quality of service.
///
/// ```swift
/// let queue = DispatchQueue(label: "outbox.handlers", qos: .utility, attributes: .concurrent)
/// options.handlerExecutor = DispatchExecutor(queue)
/// ```
///
/// On a serial queue no two parts of tasks run at once; a task that waits holds neither queue nor thread.
public final class DispatchExecutor: TaskExecutor {
    /// The queue on which tasks run.
    public let queue: DispatchQueue
    /// Creates an executor for a queue, serial or concurrent.
    public init(_ queue: DispatchQueue) { self.queue = queue }

    /// Runs a job on the queue; called by Swift's runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
