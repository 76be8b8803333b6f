internal import Dispatch

/// Where the engine's own work runs: its queues, its timer and its chores.
package struct EngineContext: Sendable {
    package let place: any WorkPlace
    /// The executor of its tasks; `nil` for Swift's global executor.
    package let executor: (any TaskExecutor)?
    /// Whether the application has named where the work runs, so that none of it runs on callers' threads.
    let isNamed: Bool

    /// Makes a context of the system; `target`: the queue that the application has named.
    init(_ target: DispatchQueue?) {
        place = SystemPlace(target)
        executor = target.map { DispatchExecutor($0) }
        isNamed = target != nil
    }

    package init(_ place: any WorkPlace, _ executor: any TaskExecutor) {
        (self.place, self.executor, isNamed) = (place, executor, true)
    }

    func queue(_ label: String, isUrgent: Bool) -> any WorkQueue {
        place.queue(label, isUrgent: isUrgent)
    }

    /// Runs a part of the engine's work outside the caller's task, whose cancellation does not reach it.
    package func detached<Output: Sendable>(_ work: @escaping @Sendable () async -> Output) async -> Output {
        await Task.detached(executorPreference: executor) { await work() }.value
    }
}
