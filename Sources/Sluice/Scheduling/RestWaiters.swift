internal import Synchronization

/// Keeps tests that wait until a broker has nothing left to do, and resumes them to check.
package final class RestWaiters: Sendable {
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

    package init() {}

    /// Resumes the waiters, after a change.
    package func changed() {
        let resumed = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for continuation in resumed { continuation.resume() }
    }

    /// Waits for the next change, unless the condition already holds; it may return without a change.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    package func wait(unless hasCome: () -> Bool) async throws {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiting.withLock { $0.append(continuation) }
                // Checked after the waiter is added, so that later changes resume it.
                if hasCome() || Task.isCancelled { changed() }
            }
        } onCancel: {
            changed()
        }
        try Task.checkCancellation()
    }
}
