internal import Synchronization

/// Tests that wait until a broker has nothing left to do, and are told whenever that may have come.
package final class RestWaiters: Sendable {
    private struct State {
        var lastNumber = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Something has changed, before this call, that rest depends on.
    package func changed() {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns behind the next change, at once if what is waited for has come.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package func wait(unless hasCome: () -> Bool) async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.waiting[number] = continuation }
                // Asked behind the entry: whatever changes from here on is told.
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
