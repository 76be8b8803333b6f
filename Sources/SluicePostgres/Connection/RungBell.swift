#if PostgreSQL
internal import Synchronization

/// Waits for a notification, or for the time in which it should have come.
final class RungBell: Sendable {
    private let state = Mutex<(answer: Bool?, waiter: CheckedContinuation<Bool, Never>?)>((nil, nil))

    /// Ends the wait; only the first call counts.
    func ring(_ answer: Bool) {
        let waiter = state.withLock { state in
            guard state.answer == nil else { return nil as CheckedContinuation<Bool, Never>? }
            state.answer = answer
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: answer)
    }

    /// - Returns: The answer; `false` after the time.
    func wait(within limit: Duration) async -> Bool {
        let timer = Task {
            // In real time: it is a server that answers.
            do { try await ContinuousClock().sleep(for: limit) } catch { return }
            ring(false)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let known = state.withLock { state in
                if state.answer == nil { state.waiter = continuation }
                return state.answer
            }
            if let known { continuation.resume(returning: known) }
        }
    }
}
#endif
