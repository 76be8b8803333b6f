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
    let rates: Rates
    var runElsewhere = RunElsewhere()
    var names: [QueueID: QueueName] = [:]
    /// The most names of queues that are kept.
    static let nameLimit = 10_000
    /// The most heads that one claim removes or defers; it bounds the transaction.
    static let headLimit = 100
    /// The most claims of one epoch: their numbers use the lower half of an integer of 64 bits.
    static let claimLimit = Int64(UInt32.max)

    init(
        _ core: TransactionCore,
        _ batches: Batches,
        _ groups: Groups,
        _ schedule: Schedule,
        _ registry: RunnerRegistry,
        _ failures: Failures,
        _ removals: Removals,
        _ blocks: QueueBlocks,
        _ rates: Rates
    ) {
        (self.core, self.batches, self.groups, self.schedule) = (core, batches, groups, schedule)
        (self.registry, self.failures, self.removals, self.blocks) = (registry, failures, removals, blocks)
        self.rates = rates
    }

    func forget() { names = [:] }

    func claim(_ request: ClaimRequest, by admission: Admission) throws -> ClaimResult {
        // This process does not run the queues, or was declared dead: it owns nothing until it starts again.
        guard core.epoch != nil else { return .taken }
        guard core.claimCount < Self.claimLimit else {
            try registry.leaveEpoch()
            return .taken
        }
        let queue = request.queue
        if try schedule.admitBeforeClaim(from: queue) { return .unfinished }
        var rules = try rules(of: queue, in: admission.queues)
        let isPlain = rules == nil
        if rules == .plain { rules = nil }
        var turn = Turn.plain
        if let rules {
            let (free, isShared) = try self.turn(in: queue, by: rules.discipline)
            guard let free else { return isShared ? takenElsewhere(queue) : try takenHere(queue) }
            turn = free
            if let waiting = try gather(request, rules) { return waiting }
        }
        var hasPassed = false
        for _ in 0..<Self.headLimit {
            // A queue without rules may have had some, and its order in memory with them.
            let head = try isPlain ? order.head(of: queue) : order.head(of: queue, by: turn.discipline)
            guard let place = head else {
                if try failRest(of: queue) { continue }
                if let rules, try closeBatch(of: queue, rules) {
                    if let waiting = try gather(request, rules) { return waiting }
                    continue
                }
                order.release(queue)
                if turn.running.isEmpty { try core.events.recordEmpty(queue) }
                return .empty
            }
            guard let row = try headRow(at: place, in: queue) else {
                try order.pass(place, of: queue, isLeftover: true)
                // Another process may run the queue, and may have left many places of deleted actions.
                if turn.isPlain, !hasPassed, let taken = try slotTaken(of: queue) {
                    order.release(queue)
                    return taken
                }
                hasPassed = true
                continue
            }
            if turn.running.contains(place.action) {
                // The process that runs it reports when it waits again.
                try order.pass(place, of: queue, isLeftover: false)
                continue
            }
            if let result = try claim(row, request, admission, turn) {
                if case .claimed = result {} else { order.release(queue) }
                return result
            }
        }
        return .unfinished
    }

    /// Returns the result of any claim while the queue's only slot is taken; `nil` if it is free.
    private func slotTaken(of queue: QueueID) throws -> ClaimResult? {
        let epoch = try connection.cached("SELECT claim >> 32 FROM sluice_claim_rows WHERE queue_id = ?1")
            .bind(1, queue.rawValue).first { $0.int64(0) }
        guard let epoch else { return nil }
        return epoch == core.epoch ? try takenHere(queue) : takenElsewhere(queue)
    }

    /// The slots are taken by claims of this process: each has a run, whose end claims again.
    private func takenHere(_ queue: QueueID) throws -> ClaimResult {
        try registry.compareClaims() ? .unfinished : .taken
    }

    /// Remembers that another process runs a queue, which it also does between two runs.
    private func takenElsewhere(_ queue: QueueID) -> ClaimResult {
        runElsewhere.saw(queue, at: core.uptime, among: core.others)
        return .takenElsewhere
    }

    /// Claims a head, or returns why it may not run; `nil` if it was removed, deferred or passed over.
    private func claim(
        _ row: HeadRow,
        _ request: ClaimRequest,
        _ admission: Admission,
        _ turn: Turn
    ) throws -> ClaimResult? {
        let queue = request.queue
        if turn.isPlain, !mutant("slot"), let claim = row.claim {
            return claim >> 32 == core.epoch ? try takenHere(queue) : takenElsewhere(queue)
        }
        if let parking = row.parking, !mutant("parking") {
            guard parking == .failing else { return .parked }
            return try failures.failBatch(of: queue) ? .unfinished : nil
        }
        if row.isCancelled, !mutant("cancelled head") {
            try removals.remove(row.action, in: queue)
            try order.pass(row.place, of: queue, isLeftover: false)
            return nil
        }
        let controls = try core.controls()
        if let end = controls.hold(of: row.queue, at: now, core.uptime), !mutant("hold") {
            try forgetNote(of: row, in: queue)
            return .held(end)
        }
        if turn.defersWaiting, !row.isExpired, try isDeferred(row, queue, admission, turn, controls) {
            return nil
        }
        if !mutant("gate"), !row.isExpired, let gate = row.gates.first(where: { !controls.isOpen($0) }) {
            try forgetNote(of: row, in: queue)
            let isRouted = admission.route(for: row.queue, kind: row.kind).matchesQueue
            return .gated(gate, isRouted: isRouted)
        }
        if let wait = row.wait, !mutant("retry wait"), !row.isExpired, request.waitedFor != wait,
            wait.nextAttemptAt > now
        {
            // Never wait longer than the requested delay: the wall clock may have been set back since (G8).
            try forgetNote(of: row, in: queue)
            let asked = mutant("clock back") ? wait.nextAttemptAt - now : row.retryDelay
            return .waiting(wait, until: core.uptime + min(wait.nextAttemptAt - now, asked))
        }
        return try admit(row, request, admission, controls, turn)
    }

    /// Claims a head that waits for nothing, if its route admits it; `nil` if it failed.
    private func admit(
        _ row: HeadRow,
        _ request: ClaimRequest,
        _ admission: Admission,
        _ controls: Controls,
        _ turn: Turn
    ) throws -> ClaimResult? {
        let queue = request.queue
        let (route, matchesQueue) = admission.route(for: row.queue, kind: row.kind)
        if row.isExpired {
            let policy = (route?.failure ?? FailurePolicies()).expired
            return try fail(row, queue, turn, (.expired, policy, Expiry.expiredError))
        }
        // Reasons of the route are written to the file, for SQL to show.
        guard let route else {
            try noteUnroutable(row, hasRoute: matchesQueue, in: queue, turn)
            return .unroutable
        }
        if let gate = route.gates.first(where: { !controls.isOpen($0) }) {
            try note(.gate, gate.rawValue, of: row, in: queue, turn)
            return .gated(gate, isRouted: true)
        }
        if row.crashes >= route.crashLimit && !mutant("crash limit") {
            let error = "the process died \(row.crashes) times while the action ran alone"
            return try fail(row, queue, turn, (.crashed, route.failure.crashed, error))
        }
        // The number of suspects tried together, with nothing beside them; 0 for all other actions.
        var trialSize = 0
        switch (request.trial, row.suspect(in: queue)) {
        case (.tries(let size), .some): trialSize = size
        // Another head has replaced the suspect: it waits as others do.
        case (.tries, nil): return .unfinished
        case (.waits, let suspect?): return .awaitsTrial(suspect)
        // The scheduler hears of it before it hears of this.
        case (.over(let deaths), let suspect?) where core.hasNewDeath(since: deaths):
            if !mutant("death during a claim") { return .awaitsTrial(suspect) }
        case (.waits, nil), (.over, _), (.none, _): break
        }
        if let limit = route.concurrency, !core.routeUse.isFree(route) {
            return .lacksPermit(route.id, limit: limit)
        }
        // Last, since it counts the start. Nothing else runs until a trial, so it does not wait.
        if let rate = route.rate, !mutant("rate"),
            let wait = try rates.start(by: rate, isForced: trialSize > 0)
        {
            return .lacksRate(rate.line, until: core.uptime + wait)
        }
        return .claimed(try run(row, in: queue, route, trialSize, controls.opening, turn))
    }

    private typealias Failure = (cause: FailureCause, policy: FailurePolicy, error: String)

    /// Fails a head that must not run again.
    private func fail(_ row: HeadRow, _ queue: QueueID, _ turn: Turn, _ why: Failure) throws -> ClaimResult? {
        let discipline = turn.discipline
        try groups.leavePass(row.action, of: queue, by: discipline, why.policy)
        try failures.fail(row.action, in: queue, by: discipline, why.cause, why.policy, error: why.error)
        return nil
    }

    private func run(
        _ row: HeadRow,
        in queue: QueueID,
        _ route: Admission.Entry,
        _ trialSize: Int,
        _ opening: Int64,
        _ turn: Turn
    ) throws -> ClaimedAction {
        guard let epoch = core.epoch else { preconditionFailure("a claim was made without an epoch") }
        core.claimCount += 1
        let claim = epoch << 32 + core.claimCount
        let receipt = Receipt(action: row.action, claim: claim, queue: queue, slot: turn.slot)
        order.take(row.place, for: receipt, by: turn.discipline)
        core.routeUse.begin(claim, of: route)
        let insert = try connection.cached(turn.slots == 1 ? Self.insertClaim : Self.insertSharedClaim)
        if turn.slots > 1 { try insert.bind(8, turn.slots) }
        try insert.bind(1, queue.rawValue).bind(2, receipt.slot).bind(3, row.action.rawValue).bind(4, claim)
            .bind(5, now.microseconds).bind(6, trialSize).bind(7, opening).run()
        // The head is not blocked now.
        if row.blockedBy != nil { try blocks.unblock(queue) }
        if row.isReversed != (turn.discipline == .lastInFirstOut) {
            // For readers that do not know the discipline.
            try connection.cached("UPDATE sluice_queue_rows SET is_reversed = ?2 WHERE queue_id = ?1")
                .bind(1, queue.rawValue).bind(2, !row.isReversed).run()
        }
        core.events.recordStart(row.action, of: row.kind, in: row.queue, attempt: row.attempts + 1, queue)
        let isTried = trialSize > 0
        return ClaimedAction(row, receipt, route.id, isTried ? .single : turn.room, isTried: isTried)
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
