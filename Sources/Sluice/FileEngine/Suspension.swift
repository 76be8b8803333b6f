internal import Synchronization

/// Whether a broker is suspended; changes run one after the other.
final class Suspension: Sendable {
    private let value = Atomic(false)
    private let end = Atomic(false)
    private let last = Mutex<Task<Void, Never>?>(nil)
    private let executor: (any TaskExecutor)?
    private let report = Mutex<Report?>(nil)

    /// A struct, so that the closure is not wrapped at each read.
    private struct Report {
        let send: @Sendable (RemainingWork) -> Void
    }

    static let readingLimit: Duration = .seconds(2)

    /// Receives how much work is left when a broker that does not run is suspended.
    var workReport: (@Sendable (RemainingWork) -> Void)? {
        get { report.withLock { $0?.send } }
        set { report.withLock { $0 = newValue.map(Report.init) } }
    }

    init(_ engine: EngineContext) { executor = engine.executor }

    /// Changed only inside ``pass(_:)``.
    var isOn: Bool {
        get { value.load(ordering: .acquiring) }
        set { value.store(newValue, ordering: .releasing) }
    }

    /// Whether the broker is closing and cannot be suspended again; changed only inside ``pass(_:)``.
    var isOver: Bool {
        get { end.load(ordering: .acquiring) }
        set { end.store(newValue, ordering: .releasing) }
    }

    /// Runs a closure after all closures passed before.
    func pass<Output: Sendable>(_ body: @escaping @Sendable () async -> Output) async -> Output {
        let task = last.withLock { last in
            let task = Task(executorPreference: executor) { [last] in
                await last?.value
                return await body()
            }
            last = Task(executorPreference: executor) { _ = await task.value }
            return task
        }
        return await task.value
    }
}
