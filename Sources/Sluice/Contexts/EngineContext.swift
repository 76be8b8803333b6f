internal import Dispatch

/// Where the engine's own work runs: its queues, its timer and its chores.
struct EngineContext: Sendable {
    /// The target of the queues; `nil` for the system's.
    let target: DispatchQueue?
    /// The executor of its tasks; `nil` for Swift's global executor.
    let executor: DispatchExecutor?

    init(_ target: DispatchQueue?) {
        self.target = target
        executor = target.map { DispatchExecutor($0) }
    }

    var isNamed: Bool { target != nil }

    /// Creates a queue of the engine; with a target, it has the target's quality of service.
    func queue(_ label: String, qos: DispatchQoS) -> DispatchQueue {
        guard let target else { return DispatchQueue(label: label, qos: qos) }
        return DispatchQueue(label: label, target: target)
    }
}
