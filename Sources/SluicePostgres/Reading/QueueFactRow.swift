#if PostgreSQL
internal import Sluice

/// A row of the view `sluice_queue_facts`.
struct QueueFactRow {
    private let row: PostgresRows.Row
    /// This process's number as a worker; 0 if it is none.
    private let own: Int64

    /// Why the calls of this process fail, if they do.
    private let refusal: (error: String, since: Timestamp)?

    init(_ row: PostgresRows.Row, own: Int64, refusal: (error: String, since: Timestamp)? = nil) {
        (self.row, self.own, self.refusal) = (row, own, refusal)
    }

    static func sql(_ source: String) -> String {
        let times = [
            "running_since", "not_before", "next_attempt_at", "blocked_at", "oldest", "rate_until",
            "refused_at", "now",
        ]
        let columns = times.map { "\(microseconds("f.\($0)")) AS \($0)" }
        let ends = ["hold_untils", "gate_untils"].map { name in
            "(SELECT array_agg(\(microseconds("u.at")) ORDER BY u.place) FROM unnest(f.\(name)) "
                + "WITH ORDINALITY AS u (at, place)) AS \(name)"
        }
        let others = """
            f.name, f.depth, f.head_id, f.head_kind, f.attempts, f.last_error, f.blocked_by, \
            f.blocked_action_id, f.blocked_error, f.has_worker, f.has_route, f.route_worker, f.route_name, \
            f.running_worker, f.running_name, f.is_busy, f.is_suspect, f.rate, f.tried_id, f.tried_queue, \
            f.tried_count, f.pool_pattern, f.refusal, \
            f.claim, f.queue_id, \
            array_to_json(f.hold_holders) AS hold_holders, array_to_json(f.hold_reasons) AS hold_reasons, \
            array_to_json(f.gates) AS gates
            """
        return "SELECT \(others), \((columns + ends).joined(separator: ", ")) FROM \(source) AS f"
    }

    var status: QueueStatus {
        let now = row.time("now") ?? Timestamp(microseconds: 0)
        return QueueStatus(
            queue: QueueName(row.text("name")),
            depth: Int(row.integer("depth") ?? 0),
            because: head(now).reasons,
            head: row.integer("head_id").map { ActionID(rawValue: $0) },
            headKind: row["head_kind"],
            attempt: Int(row.integer("attempts") ?? 0) + (isRunning ? 1 : 0),
            oldestEnqueuedAt: row.time("oldest")?.date,
            lastError: row["last_error"] ?? blockError,
            queueID: row.integer("queue_id").map { QueueID(rawValue: $0) }
        )
    }

    private var isRunning: Bool { row["claim"] != nil }

    private var blockError: String? {
        let reason = row["blocked_by"]
        guard reason != "gate", reason != "hold", reason != "permit", reason != "rate" else { return nil }
        return row["blocked_action_id"] == row["head_id"] || reason == "failing" ? row["blocked_error"] : nil
    }

    private func head(_ now: Timestamp) -> HeadFacts {
        let isOwn = row.integer("route_worker") == own
        let hasWorker = row.flag("has_worker")
        var head = HeadFacts(now: now, runner: !hasWorker && !isRunning ? .none : isOwn ? .here : .elsewhere)
        if let since = row.time("running_since"), isRunning {
            head.run = (since, Int(row.integer("attempts") ?? 0) + 1)
        }
        addBlock(to: &head)
        head.missingRoute = missingRoute
        let (holders, reasons, ends) = (
            strings("hold_holders"), strings("hold_reasons"), times("hold_untils")
        )
        head.holds = holders.indices.map { (holders[$0], reasons[$0], ends[$0]) }
        head.gates = zip(strings("gates"), times("gate_untils")).map { (GateName($0), $1) }
        head.nextAttemptAt = row.time("next_attempt_at")
        head.notBefore = row.time("not_before")
        if isRunning {
            if row.integer("running_worker") != own { head.owners = [row.text("running_name")] }
        } else if head.isFree {
            // Calls that fail keep only from its start what nothing else keeps from it.
            head.refusal = refusal ?? noted
            if hasWorker, head.refusal == nil {
                head.permit = lackedPermit(isOwn)
                if head.permit == nil, !isOwn { head.owners = [row.text("route_name")] }
            }
        }
        return head
    }

    /// What a worker has noted of its own calls.
    private var noted: (error: String, since: Timestamp)? {
        guard let error = row["refusal"], let since = row.time("refused_at") else { return nil }
        return (error, since)
    }

    private func lackedPermit(_ isOwn: Bool) -> PermitScope? {
        if let until = row.time("rate_until"), let rate = row["rate"] {
            return .rate(rate, until: until.date)
        }
        if let action = row.integer("tried_id") {
            let others = Int(row.integer("tried_count") ?? 1) - 1
            let queue = QueueName(row.text("tried_queue"))
            let tried = TriedAction(queue: queue, action: ActionID(rawValue: action), otherCount: others)
            return .crashTrial(of: tried)
        }
        if row.flag("is_suspect") { return .crashTrial(of: nil) }
        // One route of one worker has no free handler.
        let isFull = row["blocked_by"] == "permit"
        if isFull, isOwn, let pattern = row["pool_pattern"] { return .route(QueuePattern(pattern)) }
        return isFull || row.flag("is_busy") ? .otherProcess : nil
    }

    private func addBlock(to head: inout HeadFacts) {
        guard let word = row["blocked_by"] else { return }
        let since = row.time("blocked_at") ?? Timestamp(microseconds: 0)
        let error = row.text("blocked_error")
        if word == "undecodable" {
            head.undecodable = (error, since)
        } else if word == "failing" || FailureCause(rawValue: word) != nil {
            let action = ActionID(rawValue: row.integer("blocked_action_id") ?? 0)
            let cause = FailureCause(rawValue: word)
            head.parking = .init(action: action, cause: cause, error: error, since: since)
        }
    }

    /// What the routes of the living workers say, or else what the last step has noted.
    private var missingRoute: HeadFacts.MissingRoute? {
        if row.flag("has_worker") {
            if row["route_worker"] != nil { return nil }
            return row.flag("has_route") ? .ofKind : .ofQueue
        }
        guard row["blocked_action_id"] == row["head_id"] else { return nil }
        return switch row["blocked_by"] {
        case "unknown kind": .ofKind
        case "no route": .ofQueue
        default: nil
        }
    }

    private func strings(_ column: String) -> [String] { row.strings(column) }

    private func times(_ column: String) -> [Timestamp?] {
        PostgresArray.numbers(in: row[column] ?? "{}").map { $0.map { Timestamp(microseconds: $0) } }
    }
}
#endif
