internal import Synchronization

/// The engine's only timer: calls back at the earliest of the times that were set.
final class Alarm: Sendable {
    private struct State {
        var time: Duration?
        var task: Task<Void, Never>?
    }

    private let state = Mutex(State())
    private let clock: any BrokerClock
    private let executor: (any TaskExecutor)?

    /// - Parameter executor: Where it waits and calls back; `nil` for Swift's global executor.
    init(clock: any BrokerClock, executor: (any TaskExecutor)?) {
        (self.clock, self.executor) = (clock, executor)
    }

    /// Sets a time to call back, unless an earlier one is set; the callback sets the next.
    ///
    /// So no time is missed if two threads set times in another order than they decided on them.
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
            state = State()
            return true
        }
    }
}
