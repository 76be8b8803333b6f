internal import Dispatch

/// Where the engine's own work is done: its queues, its timer and its chores.
struct EngineContext: Sendable {
    /// What the queues target; `nil` is the system's, by each queue's quality of service.
    let target: DispatchQueue?
    /// Where its tasks run; `nil` is Swift's global executor.
    let executor: DispatchExecutor?

    init(_ target: DispatchQueue?) {
        self.target = target
        executor = target.map { DispatchExecutor($0) }
    }

    /// Whether somebody has said where.
    var isNamed: Bool { target != nil }

    /// A queue for one of the engine's subjects.
    ///
    /// One that has a target has that one's quality of service, and none of its own.
    func queue(_ label: String, qos: DispatchQoS) -> DispatchQueue {
        guard let target else { return DispatchQueue(label: label, qos: qos) }
        return DispatchQueue(label: label, target: target)
    }
}
