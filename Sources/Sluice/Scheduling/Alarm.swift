internal import Synchronization

/// The one timer: calls back when a time is reached, the earliest that was asked for.
final class Alarm: Sendable {
    private struct State {
        var time: Duration?
        var task: Task<Void, Never>?
    }

    private let state = Mutex(State())
    private let clock: any BrokerClock
    private let executor: DispatchExecutor?

    /// - Parameter executor: Where it waits and rings; `nil` is Swift's global executor.
    init(clock: any BrokerClock, executor: DispatchExecutor?) {
        self.clock = clock
        self.executor = executor
    }

    /// Rings at a time, or at the one that is set if that is earlier.
    ///
    /// It may ring when there is no longer anything to do; whoever hears it asks for the next time then. So
    /// two threads that set it in another order than they decided to cannot make it miss a time.
    func set(_ time: Duration, ring: @escaping @Sendable () -> Void) {
        let replaced = state.withLock { state -> Task<Void, Never>? in
            if let current = state.time, current <= time { return nil }
            let replaced = state.task
            state.time = time
            state.task = Task(executorPreference: executor) { [clock] in
                do { try await clock.sleep(untilUptime: time) } catch { return }
                if self.hasRung(time) { ring() }
            }
            return replaced
        }
        replaced?.cancel()
    }

    /// Does not ring any more.
    func cancel() {
        let task = state.withLock { state in
            defer { state = State() }
            return state.task
        }
        task?.cancel()
    }

    private func hasRung(_ time: Duration) -> Bool {
        state.withLock { state in
            guard state.time == time else { return false }
            state.time = nil
            state.task = nil
            return true
        }
    }
}
