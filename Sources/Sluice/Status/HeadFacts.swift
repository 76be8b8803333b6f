/// The known facts about a queue with work, on a file or on a server, from which its reasons follow.
///
/// Each engine fills it, and ``reasons`` alone says in which order they count. The views `sluice_queues` of
/// both schemas and the tool follow that order; tests compare them for all combinations of facts.
package struct HeadFacts: Sendable {
    /// The parking of a queue by a failure policy.
    package struct Block: Sendable {
        package var action: ActionID
        /// `nil` while a failure makes the whole queue dead letters.
        package var cause: FailureCause?
        package var error: String
        package var since: Timestamp

        package init(action: ActionID, cause: FailureCause?, error: String, since: Timestamp) {
            (self.action, self.cause, self.error, self.since) = (action, cause, error, since)
        }
    }

    /// What the head lacks if no route takes it.
    package enum MissingRoute: Sendable {
        /// There are routes for the queue, but none for the head's kind.
        case ofKind
        case ofQueue
    }

    /// Which processes run the queues.
    package enum Runner: Sendable {
        case here
        case elsewhere
        case none
    }

    package let now: Timestamp
    package let runner: Runner
    /// The run of the head: since when, and which attempt it is.
    package var run: (since: Timestamp, attempt: Int)?
    package var parking: Block?
    /// Why the head's payload does not decode.
    package var undecodable: (error: String, since: Timestamp)?
    package var missingRoute: MissingRoute?
    /// The holds that cover the queue, the oldest first.
    package var holds: [(holder: String, reason: String, until: Timestamp?)] = []
    /// The closed gates that the head needs, its own first.
    package var gates: [(gate: GateName, until: Timestamp?)] = []
    package var nextAttemptAt: Timestamp?
    /// When the head or its batch is due.
    package var notBefore: Timestamp?
    /// The permit that the head lacks if it waits for nothing else.
    package var permit: PermitScope?
    /// The write lock that other connections hold, as this process meets it.
    package var lock: (since: Timestamp, processes: [Int])?
    /// The file's or the server's refusal of what the queue asks for.
    package var refusal: (error: String, since: Timestamp)?
    package var handlersBlockedSince: Timestamp?
    /// Who runs the head or may run it, if not this process.
    package var owners: [String] = []

    package init(now: Timestamp, runner: Runner) { (self.now, self.runner) = (now, runner) }

    /// The reasons why the queue does not move, or the run of its head; the first is the one that counts.
    package var reasons: [WaitReason] {
        let found = Self.rulesOfHead.flatMap { $0(self) }
        return found + Self.rulesOfStart.flatMap { $0(self, found.isEmpty) }
    }

    /// Whether the head could start, if it gets a permit, a process and its turn to write.
    package var isFree: Bool { Self.rulesOfHead.allSatisfy { $0(self).isEmpty } }

    /// What keeps the head from its start, in the order of the reasons.
    private static let rulesOfHead: [@Sendable (HeadFacts) -> [WaitReason]] = [
        { facts in facts.run.map { [.running(since: $0.since.date, attempt: $0.attempt)] } ?? [] },
        { facts in
            guard let block = facts.parking else { return [] }
            return [
                .parked(by: block.action, cause: block.cause, error: block.error, since: block.since.date)
            ]
        },
        { facts in
            guard facts.run == nil, facts.parking == nil, let (error, since) = facts.undecodable else {
                return []
            }
            return [.undecodable(error: error, since: since.date)]
        },
        { facts in
            guard facts.run == nil, facts.parking == nil, facts.undecodable == nil else { return [] }
            return switch facts.missingRoute {
            case .ofKind: [.unknownKind]
            case .ofQueue: [.noRoute]
            case nil: []
            }
        },
        { facts in facts.holds.map { .held(by: $0.holder, reason: $0.reason, until: $0.until?.date) } },
        { facts in facts.run == nil ? facts.gates.map { .gate($0.gate, until: $0.until?.date) } : [] },
        { facts in
            guard facts.run == nil, let time = facts.nextAttemptAt, time > facts.now else { return [] }
            return [.retry(until: time.date)]
        },
        { facts in
            guard facts.run == nil, let time = facts.notBefore, time > facts.now else { return [] }
            return [.scheduled(for: time.date)]
        },
    ]

    /// What keeps a free head from its start, and an outcome from being written, in the order of the reasons.
    private static let rulesOfStart: [@Sendable (HeadFacts, _ isFree: Bool) -> [WaitReason]] = [
        { facts, isFree in isFree ? facts.permit.map { [.permit($0)] } ?? [] : [] },
        { facts, isFree in
            guard isFree || facts.run != nil, let lock = facts.lock else { return [] }
            return [.locked(since: lock.since.date, by: lock.processes)]
        },
        { facts, _ in facts.refusal.map { [.refused(error: $0.error, since: $0.since.date)] } ?? [] },
        { facts, isFree in
            guard isFree || facts.run != nil, let since = facts.handlersBlockedSince else { return [] }
            return [.handlersBlocked(since: since.date)]
        },
        { facts, isFree in
            let isObstructed = facts.lock != nil || facts.refusal != nil || facts.handlersBlockedSince != nil
            guard isFree, facts.permit == nil, !isObstructed, facts.owners.isEmpty else { return [] }
            return facts.runner == .here ? [.ready] : []
        },
        { facts, _ in facts.owners.map { .owned(by: $0) } },
        { facts, _ in facts.runner == .none ? [.stopped] : [] },
    ]
}
