internal import SluiceSQLite

/// Owns the claiming of heads: decides whether a queue's next action may run, and writes its claim.
final class Claims: TransactionSubject {
    let core: TransactionCore
    let batches: Batches
    let groups: Groups
    let schedule: Schedule
    let registry: RunnerRegistry
    let failures: Failures
    let removals: Removals
    let blocks: QueueBlocks
    var runElsewhere = RunElsewhere()
    var names: [QueueID: QueueName] = [:]
    /// The most names of queues that are kept.
    static let nameLimit = 10_000

    init(
        _ core: TransactionCore,
        _ batches: Batches,
        _ groups: Groups,
        _ schedule: Schedule,
        _ registry: RunnerRegistry,
        _ failures: Failures,
        _ removals: Removals,
        _ blocks: QueueBlocks
    ) {
        self.core = core
        self.batches = batches
        self.groups = groups
        self.schedule = schedule
        self.registry = registry
        self.failures = failures
        self.removals = removals
        self.blocks = blocks
    }

    func forget() { names = [:] }

    /// The most heads that one claim removes or defers; it bounds the transaction.
    static let headLimit = 100
    /// The most claims of one epoch: their numbers use the lower half of an integer of 64 bits.
    static let claimLimit = Int64(UInt32.max)

    func claim(_ request: ClaimRequest) throws -> ClaimResult {
        let result = try claimNext(request)
        if case .takenElsewhere = result {
            runElsewhere.saw(request.queue, at: core.uptime, among: core.others)
        }
        return result
    }

    private func claimNext(_ request: ClaimRequest) throws -> ClaimResult {
        // This process does not run the queues, or was declared dead: it owns nothing until it starts again.
        guard core.epoch != nil else { return .taken }
        guard core.claimCount < Self.claimLimit else {
            try registry.leaveEpoch()
            return .taken
        }
        if try schedule.admitBeforeClaim(from: request.queue) { return .unfinished }
        if let rules = try rules(of: request), rules != .plain { return try claim(request, by: rules) }
        var hasPassed = false
        for _ in 0..<Self.headLimit {
            guard let place = try order.head(of: request.queue) else {
                guard try failRest(of: request.queue) else {
                    order.release(request.queue)
                    try core.events.recordEmpty(request.queue)
                    return .empty
                }
                continue
            }
            guard let row = try headRow(at: place, of: request) else {
                try order.pass(place, of: request.queue, isLeftover: true)
                // Another process may run the queue, and may have left many places of deleted actions.
                if !hasPassed, let taken = try slotTaken(of: request.queue) {
                    order.release(request.queue)
                    return taken
                }
                hasPassed = true
                continue
            }
            if let result = try claim(row, at: place, request) {
                if case .claimed = result {} else { order.release(request.queue) }
                return result
            }
        }
        return .unfinished
    }

    /// Returns the result of any claim while the queue's only slot is taken; `nil` if it is free.
    private func slotTaken(of queue: QueueID) throws(SQLiteError) -> ClaimResult? {
        try connection.cached("SELECT claim >> 32 FROM sluice_claim_rows WHERE queue_id = ?1")
            .bind(1, queue.rawValue).first { $0.int64(0) == core.epoch ? .taken : .takenElsewhere }
    }

    /// Claims a head, or returns why it may not run; `nil` if it was removed, deferred or passed over.
    func claim(
        _ row: HeadRow,
        at place: Place,
        _ request: ClaimRequest,
        _ turn: Turn = .plain
    ) throws -> ClaimResult? {
        let head = row.head
        if turn.isPlain, !mutant("slot"), let claim = row.claim {
            return claim >> 32 == core.epoch ? .taken : .takenElsewhere
        }
        if let parking = row.parking, !mutant("parking") {
            guard parking == .failing else { return .parked }
            return try failures.failBatch(of: request.queue) ? .unfinished : nil
        }
        if row.isCancelled, !mutant("cancelled head") {
            try removals.remove(head.action, in: request.queue)
            try order.pass(place, of: request.queue, isLeftover: false)
            return nil
        }
        let controls = try core.controls()
        if let end = controls.hold(of: head.queue, at: now, core.uptime), !mutant("hold") {
            try forgetNote(of: row, in: request.queue)
            return .held(end)
        }
        if turn.defersWaiting, !head.isExpired, try isDeferred(row, at: place, request, turn, controls) {
            return nil
        }
        if !mutant("gate"), !head.isExpired, let gate = row.gates.first(where: { !controls.isOpen($0) }) {
            try forgetNote(of: row, in: request.queue)
            return .gated(gate)
        }
        if let wait = row.wait, !mutant("retry wait"), !head.isExpired, request.waitedFor != wait,
            wait.nextAttemptAt > now
        {
            // Never wait longer than the requested delay: the wall clock may have been set back since (G8).
            try forgetNote(of: row, in: request.queue)
            let asked = mutant("clock back") ? wait.nextAttemptAt - now : row.retryDelay
            return .waiting(wait, until: core.uptime + min(wait.nextAttemptAt - now, asked))
        }
        return try carryOut(admit(head, request, controls), row, at: place, request, controls, turn)
    }

    private func carryOut(
        _ verdict: Verdict,
        _ row: HeadRow,
        at place: Place,
        _ request: ClaimRequest,
        _ controls: Controls,
        _ turn: Turn
    ) throws -> ClaimResult? {
        let queue = request.queue
        switch verdict {
        case .run(let route, let trialSize):
            return .claimed(try run(row, at: place, in: queue, route, trialSize, controls.opening, turn))
        case .fail(let cause, let policy, let error):
            let (action, discipline) = (row.head.action, turn.discipline)
            try groups.leavePass(action, of: queue, by: discipline, policy)
            try failures.fail(action, in: queue, by: discipline, cause, policy, error: error)
            return nil
        case .unroutable(let hasRoute):
            try noteUnroutable(row, hasRoute: hasRoute, in: queue, turn)
            return .unroutable
        case .gated(let gate):
            try note(.gate, gate.rawValue, of: row, in: queue, turn)
            return .gated(gate)
        case .notNow(let result):
            return result
        }
    }

    private enum Verdict {
        /// The head may run.
        ///
        /// `trialSize` is the number of suspects tried together, with nothing beside them; 0 for all other
        /// actions.
        case run(Admission.Entry, trialSize: Int)
        /// The head must not run again.
        case fail(FailureCause, FailurePolicy, error: String)
        /// No route has its queue, or none its kind, which is written to the file for SQL to show.
        case unroutable(hasRoute: Bool)
        /// A gate that its route requires is closed, which is written to the file for SQL to show.
        case gated(GateName)
        case notNow(ClaimResult)
    }

    private func admit(_ head: Head, _ request: ClaimRequest, _ controls: Controls) -> Verdict {
        let (route, matchesQueue) = request.admission.route(for: head.queue, kind: head.kind)
        if head.isExpired {
            let policy = (route?.failure ?? FailurePolicies()).expired
            return .fail(.expired, policy, error: Expiry.expiredError)
        }
        guard let route else { return .unroutable(hasRoute: matchesQueue) }
        if let gate = route.gates.first(where: { !controls.isOpen($0) }) { return .gated(gate) }
        if head.crashes >= route.crashLimit && !mutant("crash limit") {
            let error = "the process died \(head.crashes) times while the action ran alone"
            return .fail(.crashed, route.failure.crashed, error: error)
        }
        var trialSize = 0
        switch (request.trial, head.suspect(in: request.queue)) {
        case (.tries(let size), .some): trialSize = size
        // Another head has replaced the suspect: it waits as others do.
        case (.tries, nil): return .notNow(.unfinished)
        case (.waits, let suspect?): return .notNow(.awaitsTrial(suspect))
        case (.waits, nil), (.none, _): break
        }
        if let limit = route.concurrency, !core.routeUse.isFree(route) {
            return .notNow(.lacksPermit(route.id, limit: limit))
        }
        return .run(route, trialSize: trialSize)
    }

    private func run(
        _ row: HeadRow,
        at place: Place,
        in queue: QueueID,
        _ route: Admission.Entry,
        _ trialSize: Int,
        _ opening: Int64,
        _ turn: Turn
    ) throws -> ClaimedAction {
        guard let epoch = core.epoch else { preconditionFailure("a claim was made without an epoch") }
        let head = row.head
        core.claimCount += 1
        let receipt = Receipt(
            action: head.action,
            claim: epoch << 32 + core.claimCount,
            queue: queue,
            slot: turn.slot
        )
        order.take(place, for: receipt, by: turn.discipline)
        core.routeUse.begin(receipt.claim, of: route)
        let insert = try connection.cached(turn.slots == 1 ? Self.insertClaim : Self.insertSharedClaim)
        if turn.slots > 1 { try insert.bind(8, turn.slots) }
        try insert.bind(1, queue.rawValue).bind(2, receipt.slot).bind(3, head.action.rawValue)
            .bind(4, receipt.claim).bind(5, now.microseconds).bind(6, trialSize).bind(7, opening).run()
        // The head is not blocked now.
        if row.blockedBy != nil { try blocks.unblock(queue) }
        if row.isReversed != (turn.discipline == .lastInFirstOut) {
            try noteDirection(isReversed: !row.isReversed, queue)
        }
        let attempt = row.attempts + 1
        core.events.recordStart(head.action, of: head.kind, in: head.queue, attempt: attempt, queue)
        return ClaimedAction(
            receipt: receipt,
            queue: head.queue,
            kind: head.kind,
            payload: row.payload,
            version: row.version,
            trace: row.trace,
            number: row.attempts + 1,
            nonce: row.nonce,
            enqueuedAt: row.enqueuedAt,
            lastError: row.lastError,
            route: route.id,
            room: trialSize > 0 ? .single : turn.room,
            isTried: trialSize > 0
        )
    }

    private static let insertClaim: StaticString = """
        INSERT INTO sluice_claim_rows (queue_id, slot, action_id, claim, started_at_us, trial_size, opening)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        """

    private static let insertSharedClaim: StaticString = """
        INSERT INTO sluice_claim_rows
            (queue_id, slot, action_id, claim, started_at_us, trial_size, opening, slots)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        """

    /// Continues the failing of a queue with nothing left in its order; returns whether the queue is failing.
    func failRest(of queue: QueueID) throws(SQLiteError) -> Bool {
        let isFailing = try connection.cached(
            "SELECT 1 FROM sluice_queue_rows WHERE queue_id = ?1 AND blocked_by = 'failing'"
        ).bind(1, queue.rawValue).hasRow()
        if isFailing { try failures.failBatch(of: queue) }
        return isFailing
    }
}
