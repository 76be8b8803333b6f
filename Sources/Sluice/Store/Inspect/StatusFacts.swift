internal import SluiceSQLite

/// What holds for all queues, in the same snapshot.
struct StatusFacts: Sendable {
    /// The processes that run the queues, those first that have done so longest: they have not died, and
    /// their leases have not ended.
    ///
    /// Of one that has died and left something running, `process` is the one that ends that.
    let runners: [(epoch: Int64, process: Int, hasDied: Bool)]
    /// Whether any of them runs something.
    let hasClaims: Bool
    let openGates: Set<GateName>
    /// The holds that stand, the oldest first.
    let holds: [(pattern: QueuePattern.Form, hold: Hold)]
    /// Where the log is; `nil` in memory.
    let walPath: String?
}

extension StatusFacts {
    /// - Parameters:
    ///   - state: This process's own.
    ///   - rows: The processes that run queues and live.
    init(
        _ connection: Connection,
        _ state: RunnerState,
        _ rows: [RunnerRow],
        seenFrom me: ProcessIdentity,
        now: Timestamp
    ) throws(SQLiteError) {
        let runners = rows.map {
            let keeper = $0.leftover(seenFrom: me)
            return (epoch: $0.epoch, process: Int((keeper ?? $0.process).pid), hasDied: keeper != nil)
        }
        self.runners = runners
        walPath = connection.walPath
        let claims = Set(
            try connection.cached("SELECT claim >> 32 FROM sluice_claim_rows").all { $0.int64(0) }
        )
        hasClaims = claims.contains { claim in runners.contains { $0.epoch == claim } }
        openGates = Set(
            try connection.cached("SELECT name FROM sluice_gate_rows WHERE is_open").all {
                GateName($0.text(0))
            }
        )
        holds = try Hold.standing(connection, at: now).compactMap { hold in
            (try? hold.pattern.form()).map { (pattern: $0, hold: hold) }
        }
    }
}
