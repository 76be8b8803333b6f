#if PostgreSQL
internal import Sluice

/// What a step gets: ended attempts, and how many more may start.
struct StepCall {
    static let sql = """
        SELECT what, claim, follows, action_id, queue_id, queue, kind, version, payload, trace, nonce, \
        attempts, last_error, is_alone, route, cause, policy, \
        \(microseconds("enqueued_at")) AS enqueued_at, \
        \(microseconds("due_at")) AS due_at \
        FROM @sluice_step($1, $2, $3::bigint[], $4::text[], $5::interval[], $6::text[], $7::boolean[], \
        $8::text[], $9::text[], $10::text[], $11::int[], $12::int[], $13, $14, $15, $16, $17, $18)
        """

    private let outcomes: [Outcomes.Outcome]
    private let free: Int
    private let permits: [(route: RouteID, count: Int)]
    /// Whether the worker waits for the doorbell: only when it cannot have more to do.
    private let waits: Bool

    init(
        _ outcomes: [Outcomes.Outcome],
        _ free: Int,
        _ permits: [(route: RouteID, count: Int)],
        isListening: Bool
    ) {
        (self.outcomes, self.free, self.permits) = (outcomes, free, permits)
        waits = outcomes.allSatisfy(\.isBusy) && free > 0 && isListening
    }

    func parameters(_ work: LoopWork, _ lease: Duration, _ trialLimit: Duration) -> [String?] {
        let facts = outcomes.map { SettlementFacts($0.settlement) }
        return [
            "\(work.epoch)",
            lease.postgresText,
            PostgresArray.numbers(outcomes.map(\.action.receipt.claim)),
            PostgresArray.text(facts.map(\.outcome)),
            PostgresArray.text(facts.map { $0.delay?.postgresText }),
            PostgresArray.text(facts.map { $0.gate?.rawValue }),
            PostgresArray.text(facts.map { $0.closes ? "t" : "f" }),
            PostgresArray.text(facts.map(\.error)),
            PostgresArray.text(facts.map { $0.cause?.rawValue }),
            PostgresArray.text(facts.map { $0.policy?.rawValue }),
            PostgresArray.numbers(permits.map(\.route.rawValue)),
            PostgresArray.numbers(permits.map(\.count)),
            "\(free)",
            "\(work.nextClaim)",
            waits ? "t" : "f",
            work.arrivalsFrom,
            trialLimit.postgresText,
            "\(work.mostBytes)",
        ]
    }
}

/// An outcome as the server gets it.
private struct SettlementFacts {
    let outcome: String
    var delay: Duration?
    var gate: GateName?
    var closes = false
    var error: String?
    var cause: FailureCause?
    var policy: FailurePolicy?

    init(_ settlement: Settlement) {
        switch settlement {
        case .success, .successWriting: outcome = "success"
        case .retry(let delay, let gate, let closes, let error):
            outcome = "retry"
            (self.delay, self.gate, self.closes, self.error) = (delay, gate, closes, error.storable)
        case .fail(let cause, let policy, let error):
            outcome = "fail"
            (self.cause, self.policy, self.error) = (cause, policy, error.storable)
        case .release(let delay, let gate, let closes, let error):
            outcome = "release"
            (self.delay, self.gate, self.closes, self.error) = (delay, gate, closes, error?.storable)
        case .stop: outcome = "stop"
        }
    }
}
#endif
