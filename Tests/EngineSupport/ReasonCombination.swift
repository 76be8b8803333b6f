@testable import Sluice

/// One combination of the facts from which the reasons of a queue follow.
struct ReasonCombination: Sendable {
    /// The value of `blocked_by`.
    var block: String?
    var isRunning = false
    var isHeld = false
    var isAtGate = false
    var waitsForRetry = false
    var isScheduled = false

    static let blocks: [String?] = [
        nil, "failed", "exhausted", "expired", "crashed", "failing", "undecodable", "unknown kind",
        "no route", "gate",
    ]

    /// All of them; those with a run only if some process runs the queues.
    static func all(withRuns: Bool) -> [ReasonCombination] {
        let both = [false, true]
        var all: [ReasonCombination] = []
        for block in blocks {
            for number in 0..<32 {
                let flags = (0..<5).map { both[number >> $0 & 1] }
                if flags[4] && !withRuns { continue }
                all.append(
                    ReasonCombination(
                        block: block,
                        isRunning: flags[4],
                        isHeld: flags[0],
                        isAtGate: flags[1],
                        waitsForRetry: flags[2],
                        isScheduled: flags[3]
                    )
                )
            }
        }
        return all
    }

    static let gate = "shut"
    static let routeGate = "route's gate"
    static let error = "why"

    /// The facts as an engine must read them.
    ///
    /// - Parameters:
    ///   - action: The head.
    ///   - now: The time at which it started, was blocked and is read.
    ///   - retry: When the next attempt is due.
    ///   - due: The time that the head is scheduled for.
    func facts(
        _ action: ActionID,
        runner: HeadFacts.Runner,
        at now: Timestamp,
        retry: Timestamp,
        due: Timestamp
    ) -> HeadFacts {
        var facts = HeadFacts(now: now, runner: runner)
        if isRunning { facts.run = (now, 1) }
        switch block {
        case nil: break
        case "undecodable": facts.undecodable = (Self.error, now)
        case "unknown kind": facts.missingRoute = .ofKind
        case "no route": facts.missingRoute = .ofQueue
        case "gate": facts.gates = [(GateName(Self.routeGate), nil)]
        case let word?:
            let cause = FailureCause(rawValue: word)
            facts.parking = .init(action: action, cause: cause, error: Self.error, since: now)
        }
        if isHeld { facts.holds = [("ops", "look", nil)] }
        if isAtGate { facts.gates.insert((GateName(Self.gate), nil), at: 0) }
        if waitsForRetry { facts.nextAttemptAt = retry }
        if isScheduled { facts.notBefore = due }
        return facts
    }
}
