#if PostgreSQL
internal import Sluice

/// What a step has answered, sorted by its meaning.
struct StepAnswer {
    /// The results of settled claims.
    private var results: [Int64: SettleResult] = [:]
    /// Claims whose outcomes could not be written, as another transaction has their queues.
    private(set) var busy: Set<Int64> = []
    private(set) var claimed: [PostgresRows.Row] = []
    /// Claims whose actions an operator has cancelled.
    private(set) var cancelled: [Int64] = []
    /// Rows about queues and actions that need a person.
    private(set) var reports: [PostgresRows.Row] = []
    /// Claims whose actions were edited during an attempt that succeeded.
    private(set) var lostEdits: Set<Int64> = []
    /// When something is due, by this process's clock.
    private(set) var due: Timestamp?
    /// The block of the arrivals' table from which the next step looks.
    private(set) var arrivalsFrom: String?

    init(_ rows: PostgresRows, now: Timestamp) {
        for row in rows {
            let claim = row.integer("claim") ?? 0
            switch row.text("what") {
            case "settled": results[claim] = .settled
            case "removed": results[claim] = .removed
            case "byApplication": results[claim] = .settledByApplication
            case "stale": results[claim] = mutant("server late outcome") ? .settled : .stale
            case "busy": busy.insert(claim)
            case "claimed": claimed.append(row)
            case "cancel": cancelled.append(claim)
            case "failed", "unrouted", "behind": reports.append(row)
            case "editLost": lostEdits.insert(claim)
            case "next":
                // The server's clock need not agree with this one.
                if let time = row.time("due_at"), let server = row.time("enqueued_at") {
                    due = now + (time - server)
                }
                arrivalsFrom = row["version"] ?? "0"
            default: break
            }
        }
    }

    /// Returns the result of an outcome that the step got; `nil` if another transaction has its queue.
    func result(of outcome: Outcomes.Outcome) -> SettleResult? {
        let claim = outcome.action.receipt.claim
        if busy.contains(claim) { return nil }
        let result = results[claim] ?? .stale
        // The lost answer was that of its settling.
        return result == .stale && outcome.wasSent ? .settled : result
    }
}
#endif
