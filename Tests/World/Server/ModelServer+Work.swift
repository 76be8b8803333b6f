#if PostgreSQL
import Foundation
import Sluice
import SluicePostgres

/// What workers and enqueues call besides the step.
extension ModelServer {
    // MARK: - Workers

    func register(_ call: ModelCall) -> PostgresRows {
        let epoch = newEpoch()
        workers[epoch] = Worker(
            name: call.word(0),
            leaseUntil: now + call.interval(2),
            continuousSince: now,
            routes: Self.routes(call.word(3))
        )
        world.note("the server has worker \(epoch), \(call.word(0))")
        return .one(["epoch": "\(epoch)"])
    }

    func setRoutes(_ call: ModelCall) throws(PostgresFailure) -> PostgresRows {
        guard workers[call.number(0)] != nil else { throw Self.takenOff }
        workers[call.number(0)]?.routes = Self.routes(call.word(1))
        return .none
    }

    private static func routes(_ text: String) -> [ModelRoute] {
        do { return try JSONDecoder().decode([ModelRoute].self, from: Data(text.utf8)) } catch {
            preconditionFailure("routes: \(error)")
        }
    }

    func resync(_ call: ModelCall) throws(PostgresFailure) -> PostgresRows {
        let (epoch, held, next) = (call.number(0), Set(call.numbers(1)), call.number(2))
        guard let worker = workers[epoch] else { throw Self.takenOff }
        guard next > worker.firstClaim else {
            throw .refused(state: "SL004", message: "this resync comes after a later one", detail: "lateCall")
        }
        workers[epoch]?.firstClaim = next
        var isComplete = true
        for (claim, facts) in claims.sorted(by: { $0.key < $1.key })
        where facts.worker == epoch && !held.contains(claim) {
            if isLocked(facts.lane) { isComplete = false } else { release(claim, .givenBack) }
        }
        let gone: [String?] = held.sorted().filter { claims[$0]?.worker != epoch }.map { "\($0)" }
        return PostgresRows(columns: ["claim"], rows: (isComplete ? gone : [nil] + gone).map { [$0] })
    }

    func leave(_ call: ModelCall) -> PostgresRows {
        endWorker(call.number(0), .left)
        return .none
    }

    private func endWorker(_ epoch: Int64, _ loss: Loss) {
        guard let worker = workers.removeValue(forKey: epoch) else { return }
        world.note("the server ends worker \(epoch), \(worker.name): \(loss)")
        for (claim, facts) in claims.sorted(by: { $0.key < $1.key }) where facts.worker == epoch {
            release(claim, loss)
        }
        ring()
    }

    /// Takes workers off whose leases are over, one in each call.
    func chores(_ call: ModelCall) throws(PostgresFailure) -> PostgresRows {
        let (epoch, lease) = (call.number(0), call.interval(1))
        guard let worker = workers[epoch] else { throw Self.takenOff }
        var done = 0
        if worker.continuousSince > now {
            workers[epoch]?.continuousSince = now
            shortenWaits()
            done = 1
        } else if worker.leaseUntil > now, worker.continuousSince <= now - lease {
            // The clock was set back: nobody has a longer lease.
            for other in workers.keys.sorted() where (workers[other]?.leaseUntil ?? 0) > now + 4 * lease {
                workers[other]?.leaseUntil = now + 2 * lease
            }
            let lapsed = workers.filter { $0.key != epoch && $0.value.leaseUntil <= now }.keys.min()
            if let lapsed { endWorker(lapsed, .takenOff) }
            done = lapsed == nil ? 0 : 1
        }
        return .one([
            "what": "done", "done": "\(done)", "action_id": nil, "queue": nil, "kind": nil, "attempts": nil,
            "last_error": nil, "cause": nil, "policy": nil,
        ])
    }

    private func shortenWaits() {
        for id in actions.keys.sorted() {
            guard let action = actions[id] else { continue }
            actions[id]?.nextAttemptAt = min(action.nextAttemptAt, now + action.retryDelay)
        }
    }

    // MARK: - Enqueues

    func enqueue(_ call: ModelCall) throws(PostgresFailure) -> PostgresRows {
        if let token = call.text(0), tokens[token] != nil {
            throw .refused(state: "23505", message: "the token of this enqueue was used before", detail: nil)
        }
        let queues = call.array(3)
        let (kinds, versions, payloads) = (call.array(4), call.array(5), call.array(6))
        let traces = call.array(15, count: queues.count)
        let ids = queues.indices.map { index in
            store(
                queues[index] ?? "",
                kind: kinds[index] ?? "",
                version: versions[index] ?? "",
                payload: payloads[index] ?? "",
                trace: traces[index],
                nonce: call.word(1)
            )
        }
        if let token = call.text(0) { tokens[token] = .some(ids) }
        ring()
        return PostgresRows(columns: ["id", "refusal"], rows: ids.map { ["\($0)", nil] })
    }

    func token(_ call: ModelCall) -> PostgresRows {
        if tokens[call.word(0)] == nil { tokens[call.word(0)] = .some(nil) }
        let ids = (tokens[call.word(0)] ?? nil).map { ids in
            "{\(ids.map { $0.map { "\($0)" } ?? "NULL" }.joined(separator: ","))}"
        }
        return .one(["ids": ids])
    }

    // MARK: - Questions

    private func lanes(matching pattern: String) -> [Lane] {
        let prefix = pattern.hasSuffix("*") ? pattern.dropLast() : pattern[...]
        return lanes.filter { pattern.hasSuffix("*") ? $0.name.hasPrefix(prefix) : $0.name == pattern }
    }

    func workLeft(_ call: ModelCall) -> PostgresRows {
        let times = lanes(matching: call.word(0)).compactMap { lane -> Int64? in
            guard let head = lane.actions.first, let action = actions[head] else { return nil }
            return lane.claim == nil ? max(action.nextAttemptAt, now) : now
        }
        return .one([
            "due": "\(times.count)", "elsewhere": "0", "parked": "0", "undecodable": "0", "unknown_kind": "0",
            "held": "0", "gate": "0", "next_at": times.min().map { "\($0)" }, "now_at": "\(now)",
        ])
    }

    func runningCount(_ call: ModelCall) -> PostgresRows {
        .one(["count": "\(lanes(matching: call.word(0)).count { $0.claim != nil })"])
    }
}
#endif
