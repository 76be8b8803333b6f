internal import SluiceSQLite
internal import Synchronization

/// How actions ended, for those who wait for them: the last ones by number, and each as it is committed.
///
/// Confined to the writer's leader.
final class SettledActions {
    /// How many ends are remembered: 100 KB.
    static let capacity = 4_096

    let waiters: SettlementWaiters
    private var recent: [(action: ActionID, end: ActionEnd)] = []
    /// Where the next one stands in `recent` when that is full.
    private var next = 0
    /// How many of the last ones are not committed yet.
    private var uncommitted = 0
    /// Those that somebody waited for when they ended.
    private var toTell: [(action: ActionID, end: ActionEnd)] = []

    init(waiters: SettlementWaiters) {
        self.waiters = waiters
    }

    /// An action has gone in this transaction.
    func note(_ action: ActionID, _ end: ActionEnd) {
        if recent.count < Self.capacity {
            recent.append((action, end))
        } else {
            recent[next] = (action, end)
        }
        next = (next + 1) % Self.capacity
        uncommitted += 1
        if waiters.areThere { toTell.append((action, end)) }
    }

    /// How an action ended, if it is among the last.
    func end(of action: ActionID) -> ActionEnd? {
        for step in 1..<(recent.count + 1) {
            let entry = recent[(next + Self.capacity - step) % Self.capacity]
            if entry.action == action { return entry.end }
        }
        return nil
    }

    func committed() { uncommitted = 0 }

    /// Forgets what has not happened.
    func rolledBack() {
        for step in 1..<(min(uncommitted, recent.count) + 1) {
            // No action has this number.
            recent[(next + Self.capacity - step) % Self.capacity].action = ActionID(rawValue: 0)
        }
        uncommitted = 0
        toTell.removeAll()
    }

    /// Tells those who wait for what was committed.
    func tell() {
        guard !toTell.isEmpty else { return }
        waiters.tell(toTell)
        toTell.removeAll()
    }
}

/// Those who wait for an action to be settled: a continuation each, no task and no thread.
package final class SettlementWaiters: Sendable {
    private struct State {
        var waiters: [ActionID: [Int: CheckedContinuation<ActionEnd, any Error>]] = [:]
        var lastNumber = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let waiting = Atomic(0)

    /// Whether anybody waits.
    ///
    /// Who begins to wait looks at the file afterwards: what was committed before is found there.
    var areThere: Bool { count > 0 }

    /// How many wait.
    var count: Int { waiting.load(ordering: .acquiring) }

    /// The actions that are waited for.
    var actions: [ActionID] { state.withLock { Array($0.waiters.keys) } }

    /// A number for one who will wait.
    func nextNumber() -> Int {
        state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    /// Begins to wait.
    ///
    /// - Returns: `false` when the waiter has had its answer at once: its task is cancelled, or the file is
    ///   closed.
    func enter(
        _ action: ActionID,
        _ number: Int,
        _ continuation: CheckedContinuation<ActionEnd, any Error>
    ) -> Bool {
        let error = state.withLock { state -> (any Error)? in
            if state.isClosed { return Self.closed }
            // The task counts as cancelled by now: a waiter that is not here yet will not wait.
            if Task.isCancelled { return CancellationError() }
            state.waiters[action, default: [:]][number] = continuation
            waiting.wrappingAdd(1, ordering: .acquiringAndReleasing)
            return nil
        }
        if let error { continuation.resume(throwing: error) }
        return error == nil
    }

    /// Ends the wait of one, if it still waits.
    func leave(_ action: ActionID, _ number: Int, with result: Result<ActionEnd, any Error>) {
        let waiter = state.withLock { state in
            let waiter = state.waiters[action]?.removeValue(forKey: number)
            if state.waiters[action]?.isEmpty == true { state.waiters[action] = nil }
            if waiter != nil { waiting.wrappingSubtract(1, ordering: .acquiringAndReleasing) }
            return waiter
        }
        waiter?.resume(with: result)
    }

    /// Ends the waits for actions that have gone.
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

    /// Ends all waits, and those that come.
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

extension Store {
    /// Waits until an action has gone.
    ///
    /// - Parameter onWait: Called when it has not gone yet.
    package func settled(
        _ action: ActionID,
        onWait: @escaping @Sendable () -> Void = {}
    ) async throws -> ActionEnd {
        let number = waiters.nextNumber()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard waiters.enter(action, number, continuation) else { return }
                // After it has entered: what is committed from now on is told.
                write(sync: .later) {
                    try $0.core.end(of: action)
                } completion: { [waiters] found in
                    switch found {
                    case .success(nil): onWait()
                    case .success(let end?): waiters.leave(action, number, with: .success(end))
                    case .failure(let error): waiters.leave(action, number, with: .failure(error))
                    }
                }
            }
        } onCancel: {
            waiters.leave(action, number, with: .failure(CancellationError()))
        }
    }
}

extension TransactionCore {
    /// How an action ended; `nil` when it waits or runs.
    func end(of action: ActionID) throws(SQLiteError) -> ActionEnd? {
        let isThere = try connection.cached("SELECT 1 FROM sluice_action_rows WHERE id = ?1")
            .bind(1, action.rawValue).hasRow()
        if isThere { return nil }
        if let end = settledActions.end(of: action) { return end }
        if ownSettlements.hasSettled(action) { return .succeeded }
        let cause = try connection.cached("SELECT cause FROM sluice_dead_rows WHERE id = ?1")
            .bind(1, action.rawValue).first { DeadLetterCause(rawValue: $0.text(0)) }
        return (cause ?? nil).map(ActionEnd.deadLettered) ?? .unknown
    }

    /// Finds out which of the actions that are waited for others have settled.
    func lookForSettled() throws(SQLiteError) {
        guard settledActions.waiters.areThere else { return }
        for action in settledActions.waiters.actions {
            if let end = try end(of: action) { settledActions.note(action, end) }
        }
    }
}
