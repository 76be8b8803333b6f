internal import Synchronization

/// Keeps tests that wait until a broker has nothing left to do, and resumes them to check.
package final class RestWaiters: Sendable {
    private struct State {
        var lastNumber = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Resumes the waiters, after a change.
    package func changed() {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits for the next change, unless the condition already holds.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    package func wait(unless hasCome: () -> Bool) async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.waiting[number] = continuation }
                // Checked after the waiter is added, so that later changes resume it.
                if hasCome() || Task.isCancelled { resume(number) }
            }
        } onCancel: {
            resume(number)
        }
        try Task.checkCancellation()
    }

    private func resume(_ number: Int) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
}
