#if CommandLineTool
internal import Synchronization

/// A value that is set once, for all tasks that wait for it.
final class Arrival<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [CheckedContinuation<Value, Never>] = []
    }

    private let state = Mutex(State())

    /// Sets the value; only the first call counts.
    func come(_ value: Value) {
        let waiters = state.withLock { state in
            guard state.value == nil else { return [] as [CheckedContinuation<Value, Never>] }
            state.value = value
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: value) }
    }

    /// The value, if it is set.
    var now: Value? { state.withLock { $0.value } }

    /// Waits for the value, even if the task is cancelled.
    func wait() async -> Value {
        await withCheckedContinuation { continuation in
            let value = state.withLock { state in
                if state.value == nil { state.waiters.append(continuation) }
                return state.value
            }
            if let value { continuation.resume(returning: value) }
        }
    }
}
#endif
