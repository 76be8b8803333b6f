internal import Synchronization

/// Keeps the callers that wait for actions to be settled: a continuation each, no task and no thread.
package final class SettlementWaiters: Sendable {
    typealias Continuation = CheckedContinuation<ActionEnd, any Error>

    private struct State {
        var waiters: [ActionID: [Int: Continuation]] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())
    private let waiting = Atomic(0)
    private let lastNumber = Atomic(0)
    /// Whether there are waiters; a new one checks the file afterwards, and so finds earlier commits there.
    var areThere: Bool { count > 0 }
    var count: Int { waiting.load(ordering: .acquiring) }
    var actions: [ActionID] { state.withLock { Array($0.waiters.keys) } }
    /// Returns a number for a new waiter.
    func nextNumber() -> Int { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Adds a waiter; returns `false` if it was resumed at once: its task is cancelled, or the file closed.
    func enter(_ action: ActionID, _ number: Int, _ continuation: Continuation) -> Bool {
        let error = state.withLock { state -> (any Error)? in
            if state.isClosed { return Self.closed }
            // The task may be cancelled before its waiter is here: such a waiter is not added.
            if Task.isCancelled { return CancellationError() }
            state.waiters[action, default: [:]][number] = continuation
            waiting.wrappingAdd(1, ordering: .acquiringAndReleasing)
            return nil
        }
        if let error { continuation.resume(throwing: error) }
        return error == nil
    }

    func leave(_ action: ActionID, _ number: Int, with result: Result<ActionEnd, any Error>) {
        let waiter = state.withLock { state in
            let waiter = state.waiters[action]?.removeValue(forKey: number)
            if state.waiters[action]?.isEmpty == true { state.waiters[action] = nil }
            if waiter != nil { waiting.wrappingSubtract(1, ordering: .acquiringAndReleasing) }
            return waiter
        }
        waiter?.resume(with: result)
    }

    func tell(_ ends: [(action: ActionID, end: ActionEnd)]) {
        for (action, end) in ends {
            let waiters = state.withLock { state in
                let waiters = state.waiters.removeValue(forKey: action) ?? [:]
                waiting.wrappingSubtract(waiters.count, ordering: .acquiringAndReleasing)
                return waiters
            }
            for waiter in waiters.values { waiter.resume(returning: end) }
        }
    }

    /// Ends all waits; later ones fail at once.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            waiting.store(0, ordering: .releasing)
            return state.waiters.values.flatMap(\.values)
        }
        for waiter in waiters { waiter.resume(throwing: Self.closed) }
    }

    private static let closed = SluiceError(.closed, "the broker was closed")
}
