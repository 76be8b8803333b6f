internal import SluiceSQLite

/// Records the events of subjects, and those found in changes of other connections.
extension EventJournal {
    /// Records an event of an action, if it is collected; call it before the action is deleted.
    func record(
        _ kind: QueueEvent.Kind,
        _ action: ActionID,
        in queue: QueueID,
        _ fill: (inout QueueEvent) -> Void = { _ in }
    ) throws(SQLiteError) {
        guard collects(kind) else { return }
        var event = QueueEvent(kind, at: now.date, queue: try queueName(queue))
        event.action = action
        event.actionKind = try connection.cached("SELECT kind FROM sluice_action_rows WHERE id = ?1")
            .bind(1, action.rawValue).first { $0.text(0) }
        fill(&event)
        try add(event, about: asksForAction(of: event) ? StoredAction.read(action, on: connection) : nil)
        if kind.takesAway && isOn { leaves(queue) }
    }

    /// Records an event of an action; `contents` is evaluated only if an observer asks for the action.
    func record(
        _ kind: QueueEvent.Kind,
        _ action: ActionID,
        of actionKind: String,
        in queue: QueueName,
        contents: @autoclosure () -> StoredAction? = nil,
        _ fill: (inout QueueEvent) -> Void = { _ in }
    ) {
        guard collects(kind) else { return }
        var event = QueueEvent(kind, at: now.date, queue: queue)
        event.action = action
        event.actionKind = actionKind
        fill(&event)
        add(event, about: asksForAction(of: event) ? contents() : nil)
    }

    func record(_ kind: QueueEvent.Kind, queue: QueueID) throws(SQLiteError) {
        if isOn { add(QueueEvent(kind, at: now.date, queue: try queueName(queue))) }
    }

    func record(_ kind: QueueEvent.Kind, _ fill: (inout QueueEvent) -> Void) {
        guard isOn else { return }
        var event = QueueEvent(kind, at: now.date)
        fill(&event)
        add(event)
    }

    func recordEmpty(_ queue: QueueID) throws(SQLiteError) {
        if isOn { try record(hasLeft(queue) ? .idle : .emptyWake, queue: queue) }
    }

    func recordStart(_ action: ActionID, of kind: String, in name: QueueName, attempt: Int, _ id: QueueID) {
        guard collects(.started) else { return }
        if isOn { _ = hasLeft(id) }
        record(.started, action, of: kind, in: name) { $0.attempt = attempt }
    }

    /// Records that an attempt succeeded; call it before the attempt is settled.
    func recordSuccess(_ receipt: Receipt) throws(SQLiteError) {
        // An action that was removed while it ran has already been reported as removed.
        guard collects(.editLost) else { return }
        let known = try connection.cached(
            """
            SELECT coalesce(s.attempts, 0), s.edited_claim FROM sluice_action_rows AS a
            LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id WHERE a.id = ?1
            """
        ).bind(1, receipt.action.rawValue).first { (earlier: $0.int(0), editedClaim: $0.optionalInt64(1)) }
        guard let known else { return }
        if known.editedClaim == receipt.claim {
            try record(.editLost, receipt.action, in: receipt.queue) { $0.attempt = known.earlier + 1 }
        }
        try record(.succeeded, receipt.action, in: receipt.queue) { $0.attempt = known.earlier + 1 }
    }

    func queueName(_ queue: QueueID) throws(SQLiteError) -> QueueName? {
        try connection.cached("SELECT name FROM sluice_queue_rows WHERE queue_id = ?1")
            .bind(1, queue.rawValue).first { QueueName($0.text(0)) }
    }

    func record(_ change: ForeignChange) throws(SQLiteError) {
        // A cancelled action that runs is reported as removed when its handler returns.
        guard isOn, !change.endsRun || change.kind == .delete else { return }
        let kind: QueueEvent.Kind =
            switch change.kind {
            case .insert: .enqueued
            case .update: .edited
            case .delete: .removed
            case .wake, .cancel, .hold, .gate, .runner, .look: .changed
            }
        guard let action = change.action else { return try record(kind, queue: change.queue) }
        try record(kind, action, in: change.queue)
    }

    /// Records which gates and holds other connections have changed since the last commit.
    func recordControls(_ controls: Controls) {
        guard isOn, let told = reportedControls else { return }
        for (name, gate) in controls.gates where gate.isOpen && told.gates[name]?.isOpen != true {
            record(.gateOpened) { $0.gate = name }
        }
        for name in Set(told.gates.keys).union(controls.gates.keys) where !controls.isOpen(name) {
            let end = controls.gates[name]?.opensAt
            guard told.isOpen(name) || told.gates[name]?.opensAt != end else { continue }
            record(.gateClosed) { ($0.gate, $0.until) = (name, end?.date) }
        }
        for hold in controls.holds where !told.holds.contains(where: { $0.id == hold.id }) {
            record(.held, hold)
        }
        for hold in told.holds where !controls.holds.contains(where: { $0.id == hold.id }) {
            record(.resumed, hold)
        }
        reportedControls = controls
    }

    func record(_ kind: QueueEvent.Kind, _ hold: Controls.StandingHold) {
        record(kind) {
            $0.pattern = hold.scope
            $0.holder = hold.holder
            $0.until = hold.until?.date
        }
    }

    /// Keeps gates and holds as this transaction leaves them, to compare later changes with.
    func keepControls(_ controls: () throws(SQLiteError) -> Controls) throws(SQLiteError) {
        if isOn && reportedControls == nil { reportedControls = try controls() }
    }
}

extension QueueEvent.Kind {
    fileprivate var takesAway: Bool {
        self == .succeeded || self == .removed || self == .taken || self == .moved || self == .deadLettered
    }
}
