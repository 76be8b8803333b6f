#if PostgreSQL
internal import Sluice
internal import Synchronization

/// Counts what may have changed, for callers that wait for the next change.
///
/// Who reads the count before looking misses no change that comes between the look and the wait.
final class ChangeCounter: Sendable {
    private struct State {
        var count = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter = 0
    }

    private let state = Mutex(State())
    private let place: any WorkPlace

    init(_ place: any WorkPlace) { self.place = place }

    var count: Int { state.withLock { $0.count } }

    func change() {
        let waiters = state.withLock { state in
            state.count += 1
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until something may have changed since the count was read, or for a time.
    func next(since count: Int, within limit: Duration) async {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        // Not by the broker's clock: it is others whose changes are polled for.
        let timer = Task {
            do { try await place.sleep(for: limit) } catch { return }
            self.release(number)
        }
        defer { timer.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if Task.isCancelled || state.count != count { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            release(number)
        }
    }

    private func release(_ number: Int) {
        state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }
}
#endif
