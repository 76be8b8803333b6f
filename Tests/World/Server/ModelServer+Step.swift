#if PostgreSQL
import Sluice
import SluicePostgres

/// `sluice_step`: outcomes are written, and queues claimed.
extension ModelServer {
    /// What a step goes on with.
    private struct Step {
        let epoch: Int64
        var free: Int
        /// How many more of each route with a limit may start.
        var permits: [Int: Int]
        var nextClaim: Int64
        var bytesLeft: Int
        var answer = ModelAnswer()
    }

    func step(_ call: ModelCall) throws(PostgresFailure) -> PostgresRows {
        let epoch = call.number(0)
        guard let worker = workers[epoch] else { throw Self.takenOff }
        guard call.number(13) >= worker.firstClaim else {
            throw .refused(state: "SL004", message: "this step comes after a resync", detail: "lateCall")
        }
        // A number that was given is refused, and so is what cannot be stored: all of it is rolled back.
        guard !claims.contains(where: { $0.key >= call.number(13) && $0.value.worker == epoch }) else {
            throw .refused(state: "23505", message: "the claim is there", detail: nil)
        }
        guard !call.array(7).contains(Line.unstorable) else {
            throw .refused(state: "22P05", message: "it cannot be stored", detail: nil)
        }
        renew(epoch, for: call.interval(1))
        let limits = zip(call.numbers(10), call.numbers(11)).map { (Int($0), Int($1)) }
        var step = Step(
            epoch: epoch,
            free: Int(call.number(12)),
            permits: Dictionary(limits) { $1 },
            nextClaim: call.number(13),
            bytesLeft: Int(call.number(17))
        )
        let settled = settle(call, &step)
        // Now and then the turn of a queue is over: another worker may be the first to have it.
        let isOver = settled.map { _ in world.random.percent(25) }
        for (index, (claim, lane)) in settled.enumerated() where isOpen(lane) && !isOver[index] {
            start(lane, after: claim, &step)
        }
        let turned = Set(settled.indices.filter { isOver[$0] }.map { settled[$0].lane })
        for lane in lanes.indices where isOpen(lane) && !turned.contains(lane) {
            start(lane, after: nil, &step)
        }
        finish(&step, mayWait: call.word(14) == "t")
        return step.answer.rows
    }

    static let takenOff = PostgresFailure.refused(
        state: "SL001",
        message: "this worker was taken off",
        detail: nil
    )

    private func renew(_ epoch: Int64, for lease: Int64) {
        guard let worker = workers[epoch] else { return }
        let left = worker.leaseUntil - now
        if left >= lease * 5 / 6, left <= lease + 1_000_000 { return }
        if left <= 0 { workers[epoch]?.continuousSince = now }
        // The clock was set back: see `chores`.
        if left > lease + 1_000_000 { workers[epoch]?.continuousSince = .max }
        workers[epoch]?.leaseUntil = now + lease
    }

    /// Writes outcomes; returns the claims whose queues go on.
    private func settle(_ call: ModelCall, _ step: inout Step) -> [(claim: Int64, lane: Int)] {
        let receipts = call.numbers(2)
        func column(_ index: Int) -> [String?] { call.array(index, count: receipts.count) }
        let (outcomes, delays, errors, policies) = (column(3), column(4), column(7), column(9))
        var kept: [(Int64, Int)] = []
        for (index, claim) in receipts.enumerated() {
            guard let held = claims[claim], held.worker == step.epoch else {
                step.answer.add("stale", claim: claim)
                continue
            }
            guard !isLocked(held.lane) else {
                step.answer.add("busy", claim: claim)
                continue
            }
            (claims[claim], lanes[held.lane].claim) = (nil, nil)
            switch outcomes[index] {
            case "success": end(held.action, .success, by: step.epoch)
            case "fail":
                precondition(policies[index] == "skip", "the load has no other policy")
                end(held.action, .dead, by: step.epoch)
            case "retry", "release":
                let delay = delays[index].map(ModelCall.microseconds) ?? 0
                actions[held.action]?.nextAttemptAt = now + delay
                actions[held.action]?.retryDelay = delay
                actions[held.action]?.lastError = errors[index]
                if outcomes[index] == "retry" { actions[held.action]?.attempts += 1 }
            default: precondition(outcomes[index] == "stop", "an outcome: \(outcomes[index] ?? "none")")
            }
            step.answer.add("settled", claim: claim)
            kept.append((claim, held.lane))
        }
        return kept
    }

    /// Whether a queue has something to start, as far as the server knows.
    private func isOpen(_ lane: Int) -> Bool {
        guard lanes[lane].claim == nil, !isLocked(lane), let head = lanes[lane].actions.first else {
            return false
        }
        return (actions[head]?.nextAttemptAt ?? 0) <= now
    }

    private func start(_ lane: Int, after settled: Int64?, _ step: inout Step) {
        guard step.free > 0, let head = lanes[lane].actions.first, let action = actions[head],
            let route = route(for: action, of: step.epoch)
        else { return }
        if let permits = step.permits[route] {
            guard permits > 0 else { return }
            step.permits[route] = permits - 1
        }
        // One is claimed however long it is.
        guard step.answer.claims.isEmpty || step.bytesLeft >= action.payload.utf8.count else { return }
        step.bytesLeft -= action.payload.utf8.count
        step.free -= 1
        let claim = step.nextClaim
        step.nextClaim += 1
        claims[claim] = Claim(action: head, lane: lane, worker: step.epoch)
        lanes[lane].claim = claim
        step.answer.add([
            "what": "claimed", "claim": "\(claim)", "follows": settled.map { "\($0)" },
            "action_id": "\(head)", "queue_id": "\(lane + 1)", "queue": lanes[lane].name,
            "kind": action.kind, "version": action.version, "payload": action.payload,
            "trace": action.trace, "nonce": action.nonce, "attempts": "\(action.attempts)",
            "last_error": action.lastError, "is_alone": "f", "route": "\(route)",
            "enqueued_at": "\(action.enqueuedAt)",
        ])
    }

    /// The route of the most specific pattern.
    private func route(for action: Stored, of epoch: Int64) -> Int? {
        let name = lanes[action.lane].name
        return workers[epoch]?.routes
            .filter { name.hasPrefix($0.prefix) && ($0.kind == nil || $0.kind == action.kind) }
            .max { $0.prefix.count < $1.prefix.count }?.route
    }

    private func finish(_ step: inout Step, mayWait: Bool) {
        let free = lanes.filter { $0.claim == nil }
        let due = free.compactMap { lane -> Int64? in
            guard let head = lane.actions.first, let action = actions[head],
                route(for: action, of: step.epoch) != nil
            else { return nil }
            return action.nextAttemptAt
        }.filter { $0 > now }.min()
        workers[step.epoch]?.isWaiting = mayWait && step.free > 0 && step.answer.claims.isEmpty
        step.answer.add([
            "what": "next", "version": "0", "enqueued_at": "\(now)",
            "due_at": step.free > 0 ? due.map { "\($0)" } : nil,
        ])
    }
}
#endif
