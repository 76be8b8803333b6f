internal import Sluice
internal import Synchronization

/// One call of `Broker.run()`.
final class BrokerRun: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var result: Result<Void, any Error>?
        var isStopped = false
    }

    private let state = Mutex(State())
    let ended = Event()

    /// The result of the run, if it has ended.
    var result: Result<Void, any Error>? { state.withLock { $0.result } }

    /// Whether the coordinator has stopped it.
    var isStopped: Bool {
        get { state.withLock { $0.isStopped } }
        set { state.withLock { $0.isStopped = newValue } }
    }

    func begin(on executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void) {
        let task = Task(executorPreference: executor) { await body() }
        state.withLock { $0.task = task }
    }

    func cancel() { state.withLock { $0.task }?.cancel() }

    func end(_ result: Result<Void, any Error>) {
        state.withLock { $0.result = result }
        ended.happen()
    }
}
