internal import SluiceSQLite

/// Remembers how the last actions ended, and notifies waiters; confined to the writer's leader.
final class SettledActions {
    /// The number of ends that are remembered: 100 KB.
    static let capacity = 4_096
    let waiters: SettlementWaiters
    @exclusivity(unchecked) private var recent: [(action: ActionID, end: ActionEnd)] = []
    /// The index in `recent` of the next entry once `recent` is full.
    private var next = 0
    /// The number of last entries that are not committed yet.
    @exclusivity(unchecked) private var uncommitted = 0
    private var toTell: [(action: ActionID, end: ActionEnd)] = []

    init(waiters: SettlementWaiters) { self.waiters = waiters }

    func note(_ action: ActionID, _ end: ActionEnd) {
        if recent.count < Self.capacity { recent.append((action, end)) } else { recent[next] = (action, end) }
        next = (next + 1) % Self.capacity
        uncommitted += 1
        if waiters.areThere { toTell.append((action, end)) }
    }

    func end(of action: ActionID) -> ActionEnd? {
        for step in 1..<(recent.count + 1) {
            let entry = recent[(next + Self.capacity - step) % Self.capacity]
            if entry.action == action { return entry.end }
        }
        return nil
    }

    /// Returns the remembered ends of some actions, in one pass.
    func ends(of actions: Set<ActionID>) -> [ActionID: ActionEnd] {
        let newestFirst = (recent[next...] + recent[..<next]).reversed()
        return Dictionary(
            newestFirst.lazy.filter { actions.contains($0.action) }.map { ($0.action, $0.end) },
            uniquingKeysWith: { newest, _ in newest }
        )
    }

    func committed() { uncommitted = 0 }

    func rolledBack() {
        for step in 1..<(min(uncommitted, recent.count) + 1) {
            // No action has this number.
            recent[(next + Self.capacity - step) % Self.capacity].action = ActionID(rawValue: 0)
        }
        uncommitted = 0
        toTell.removeAll()
    }

    func tell() {
        guard !toTell.isEmpty else { return }
        waiters.tell(toTell)
        toTell.removeAll()
    }
}

extension TransactionCore {
    /// Returns how an action ended; `nil` if it waits or runs.
    func end(of action: ActionID) throws(SQLiteError) -> ActionEnd? {
        if try exists(action) { return nil }
        if let end = settledActions.end(of: action) { return end }
        if ownSettlements.hasSettled(action) { return .succeeded }
        let cause = try connection.cached("SELECT cause FROM sluice_dead_rows WHERE id = ?1")
            .bind(1, action.rawValue).first { FailureCause(rawValue: $0.text(0)) }
        return (cause ?? nil).map(ActionEnd.deadLettered) ?? .unknown
    }

    /// Returns how actions ended that are not in the file any more, as far as this process knows.
    func ends(of actions: Set<ActionID>) -> [ActionID: ActionEnd] {
        var ends = settledActions.ends(of: actions)
        for action in actions where ends[action] == nil && ownSettlements.hasSettled(action) {
            ends[action] = .succeeded
        }
        return ends
    }

    /// Finds awaited actions that other connections have settled.
    func findSettled() throws(SQLiteError) {
        guard settledActions.waiters.areThere else { return }
        for action in settledActions.waiters.actions {
            if let end = try end(of: action) { settledActions.note(action, end) }
        }
    }
}
