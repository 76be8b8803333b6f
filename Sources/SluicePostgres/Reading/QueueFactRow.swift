#if PostgreSQL
internal import Sluice

/// A row of the view `sluice_queue_facts`.
struct QueueFactRow {
    private let row: PostgresRows.Row
    /// This process's number as a worker; 0 if it is none.
    private let own: Int64

    /// Why the calls of this process fail, if they do.
    private let refusal: Because?

    init(_ row: PostgresRows.Row, own: Int64, refusal: Because? = nil) {
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
            f.claim, f.state, f.queue_id, \
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
            because: because(now),
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

    private func because(_ now: Timestamp) -> [Because] {
        var because: [Because] = []
        if let since = row.time("running_since"), isRunning {
            because.append(.running(since: since.date, attempt: Int(row.integer("attempts") ?? 0) + 1))
        }
        because += becauseOfBlock
        let holders = strings("hold_holders")
        let reasons = strings("hold_reasons")
        let ends = times("hold_untils")
        for index in holders.indices {
            because.append(.held(by: holders[index], reason: reasons[index], until: ends[index]?.date))
        }
        if isRunning {
            if row.integer("running_worker") != own { because.append(.owned(by: row.text("running_name"))) }
            return because
        }
        for (gate, end) in zip(strings("gates"), times("gate_untils")) {
            because.append(.gate(GateName(gate), until: end?.date))
        }
        if let time = row.time("next_attempt_at"), time > now { because.append(.retry(until: time.date)) }
        if let time = row.time("not_before"), time > now { because.append(.scheduled(for: time.date)) }
        if because.isEmpty, let refusal = refusal ?? noted { return [refusal] }
        guard row.flag("has_worker") else { return because + [.stopped] }
        return because.isEmpty ? [readiness] : because
    }

    /// What a worker has noted of its own calls.
    private var noted: Because? {
        guard let error = row["refusal"], let since = row.time("refused_at") else { return nil }
        return .refused(error: error, since: since.date)
    }

    private var readiness: Because {
        if let until = row.time("rate_until"), let rate = row["rate"] {
            return .permit(.rate(rate, until: until.date))
        }
        if let action = row.integer("tried_id") {
            let others = Int(row.integer("tried_count") ?? 1) - 1
            let queue = QueueName(row.text("tried_queue"))
            let tried = TriedAction(queue: queue, action: ActionID(rawValue: action), otherCount: others)
            return .permit(.crashTrial(of: tried))
        }
        if row.flag("is_suspect") { return .permit(.crashTrial(of: nil)) }
        // One route of one worker has no free handler.
        let isOwn = row.integer("route_worker") == own
        if row["blocked_by"] == "permit", isOwn, let pattern = row["pool_pattern"] {
            return .permit(.route(QueuePattern(pattern)))
        }
        if row["blocked_by"] == "permit" || row.flag("is_busy") { return .permit(.otherProcess) }
        return row.integer("route_worker") == own ? .ready : .owned(by: row.text("route_name"))
    }

    private var becauseOfBlock: [Because] {
        let reason = row["blocked_by"] ?? ""
        let since = (row.time("blocked_at") ?? Timestamp(microseconds: 0)).date
        switch row.text("state") {
        case "parked":
            let action = ActionID(rawValue: row.integer("blocked_action_id") ?? 0)
            let error = row.text("blocked_error")
            return [.parked(by: action, cause: FailureCause(rawValue: reason), error: error, since: since)]
        case "undecodable": return [.undecodable(error: row.text("blocked_error"), since: since)]
        case "unknown kind": return [.unknownKind]
        case "no route": return [.noRoute]
        default: return []
        }
    }

    private func strings(_ column: String) -> [String] { row.strings(column) }

    private func times(_ column: String) -> [Timestamp?] {
        PostgresArray.numbers(in: row[column] ?? "{}").map { $0.map { Timestamp(microseconds: $0) } }
    }
}
#endif
