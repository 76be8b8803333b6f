internal import Synchronization

/// An event that happens once, and that tasks wait for.
final class Event: Sendable {
    private struct State {
        var hasHappened = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Resumes all current and later waiters.
    func happen() {
        let waiters = state.withLock { state in
            state.hasHappened = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until it has happened, even if the task is cancelled.
    func wait() async {
        await withCheckedContinuation { continuation in
            let hasHappened = state.withLock { state in
                if !state.hasHappened { state.waiters.append(continuation) }
                return state.hasHappened
            }
            if hasHappened { continuation.resume() }
        }
    }
}
