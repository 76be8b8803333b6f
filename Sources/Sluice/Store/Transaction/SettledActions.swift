internal import SluiceSQLite

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
