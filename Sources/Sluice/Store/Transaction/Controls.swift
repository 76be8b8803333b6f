internal import SluiceSQLite

/// The gates and holds of the file: there are few of either, so the writer keeps them all.
package struct Controls: Sendable {
    struct GateState: Sendable {
        var isOpen: Bool
        /// The value of the counter `opening` when this gate last opened.
        var opening: Int64
        /// When it opens by itself.
        var opensAt: Timestamp?
        /// How long it is closed, or was before it opened by itself.
        var closedFor: Duration?
    }

    struct StandingHold: Sendable {
        let id: HoldID
        let scope: QueuePattern
        let holder: String
        let pattern: QueuePattern.Form
        let until: Timestamp?

        /// Reads id, scope, holder and end; `nil` if the scope is not a pattern.
        init?(_ row: Row) {
            scope = QueuePattern(row.text(1))
            guard let form = try? scope.form() else { return nil }
            pattern = form
            id = HoldID(rawValue: row.int64(0))
            holder = row.text(2)
            until = row.optionalInt64(3).map(Timestamp.init(microseconds:))
        }
    }

    var gates: [GateName: GateState] = [:]
    var holds: [StandingHold] = []
    /// The counter `opening`.
    var opening: Int64 = 0

    static func read(_ connection: Connection) throws(SQLiteError) -> Controls {
        var controls = Controls()
        let gates = try connection.cached(
            "SELECT name, is_open, opening, opens_at_us, closed_for_us FROM sluice_gate_rows"
        ).all {
            let state = GateState(
                isOpen: $0.bool(1),
                opening: $0.int64(2),
                opensAt: $0.optionalInt64(3).map(Timestamp.init(microseconds:)),
                closedFor: $0.optionalInt64(4).map { .microseconds($0) }
            )
            return (GateName($0.text(0)), state)
        }
        controls.gates = Dictionary(gates) { _, last in last }
        // The table's CHECK admits only scopes that are patterns.
        controls.holds = try connection.cached("SELECT id, scope, holder, until_us FROM sluice_hold_rows")
            .all { StandingHold($0) }.compactMap(\.self)
        controls.opening =
            try connection.cached("SELECT value FROM sluice_counters WHERE name = 'opening'")
            .first { $0.int64(0) } ?? 0
        return controls
    }

    package func isOpen(_ gate: GateName) -> Bool { gates[gate]?.isOpen ?? false }

    /// Returns when the last hold on a queue ends, at a moment by both clocks; `nil` if none covers it.
    func hold(of queue: QueueName, at now: Timestamp, _ uptime: Duration) -> HoldEnd? {
        var end: HoldEnd?
        for hold in holds where hold.pattern.matches(queue) {
            guard let until = hold.until else { return .never }
            if until > now { end = max(end ?? .at(uptime), .at(uptime + (until - now))) }
        }
        return end
    }
}

extension QueuePattern.Form {
    package func matches(_ name: QueueName) -> Bool {
        switch self {
        case .exact(let exact): exact == name
        case .prefix(let bytes): name.rawValue.utf8.starts(with: bytes)
        }
    }
}
