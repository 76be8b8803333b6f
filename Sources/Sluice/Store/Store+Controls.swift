internal import SluiceSQLite

extension Store {
    func setGate(
        _ gate: GateName,
        isOpen: Bool,
        isPersistent: Bool,
        spread: Duration
    ) async throws(SluiceError) {
        try await write(sync: isPersistent ? .owed : .later) {
            try $0.gatesAndHolds.setGate(gate, isOpen: isOpen, isPersistent: isPersistent, spread: spread)
        }
    }

    func closeGate(_ gate: GateName, isPersistent: Bool, for duration: Duration) async throws(SluiceError) {
        try await write(sync: isPersistent ? .owed : .later) {
            try $0.closings.close(gate, isPersistent: isPersistent, for: duration)
        }
    }

    func gates() async throws(SluiceError) -> [Gate] {
        try await read { connection in
            try connection.cached(
                """
                SELECT name, is_open, changed_at_us, owner IS NULL, opens_at_us FROM sluice_gate_rows
                ORDER BY name
                """
            ).all {
                Gate(
                    name: GateName($0.text(0)),
                    isOpen: $0.bool(1),
                    since: Timestamp(microseconds: $0.int64(2)).date,
                    isPersistent: $0.bool(3),
                    opensAt: $0.optionalInt64(4).map { Timestamp(microseconds: $0).date }
                )
            }
        }
    }

    func hold(
        _ pattern: QueuePattern,
        by holder: String,
        reason: String,
        for duration: Duration?
    ) async throws(SluiceError) -> HoldID {
        try await write(sync: .owed) {
            try $0.gatesAndHolds.hold(pattern, by: holder, reason: reason, for: duration)
        }
    }

    func endHold(_ hold: HoldID) async throws(SluiceError) -> Bool {
        try await write(sync: .owed) { try $0.gatesAndHolds.endHold(hold) }
    }

    func endHolds(matching pattern: QueuePattern, by holder: String?) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { try $0.gatesAndHolds.endHolds(matching: pattern, by: holder) }
    }

    func audit(_ act: String, by person: String, result: String) async throws(SluiceError) {
        try await write(sync: .owed) { try $0.auditTrail.append(act, by: person, result: result) }
    }

    func auditEntries(limit: Int) async throws(SluiceError) -> [AuditEntry] {
        try await read { connection in
            try connection.cached(
                "SELECT at_us, operator, act, result FROM sluice_audit_rows ORDER BY id DESC LIMIT ?1"
            ).bind(1, limit).all {
                AuditEntry(
                    time: Timestamp(microseconds: $0.int64(0)).date,
                    person: $0.text(1),
                    act: $0.text(2),
                    result: $0.text(3)
                )
            }
        }
    }

    func holds() async throws(SluiceError) -> [Hold] {
        let now = clock.now
        return try await read { try Hold.standing($0, at: now) }
    }
}

extension Hold {
    static func standing(_ connection: Connection, at now: Timestamp) throws(SQLiteError) -> [Hold] {
        try connection.cached(
            """
            SELECT id, scope, holder, reason, since_us, until_us FROM sluice_hold_rows
            WHERE until_us IS NULL OR until_us > ?1 ORDER BY id
            """
        ).bind(1, now.microseconds).all {
            Hold(
                id: HoldID(rawValue: $0.int64(0)),
                pattern: QueuePattern($0.text(1)),
                holder: $0.text(2),
                reason: $0.text(3),
                since: Timestamp(microseconds: $0.int64(4)).date,
                until: $0.optionalInt64(5).map { Timestamp(microseconds: $0).date }
            )
        }
    }
}
