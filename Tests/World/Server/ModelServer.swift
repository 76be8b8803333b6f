#if PostgreSQL
import Foundation
import Sluice
import SluicePostgres

/// A server as its callers know it: what the functions in `Migrations/postgres` do and answer.
///
/// Each call is one transaction, executed at once. It knows queues in order of arrival, retries, dead
/// letters, routes and their limits, leases, tokens and the doorbell. It has no holds, gates, deduplication
/// keys, times of actions, suspects or acts of operators: those are the server's alone, and have tests there.
// Used by the one thread of the world that runs.
final class ModelServer: @unchecked Sendable {
    struct Stored {
        let lane: Int
        let kind: String
        let version: String
        let payload: String
        let trace: String?
        let nonce: String
        let enqueuedAt: Int64
        var attempts = 0
        /// By the server's clock, in microseconds; 0: at once.
        var nextAttemptAt: Int64 = 0
        var retryDelay: Int64 = 0
        var lastError: String?
    }

    struct Lane {
        let name: String
        /// The numbers of its actions, in order.
        var actions: [Int64] = []
        var claim: Int64?
        /// Until when a transaction of somebody else has its lock, by the world's time.
        var lockedUntil: Duration = .zero
    }

    struct Worker {
        let name: String
        var leaseUntil: Int64
        var continuousSince: Int64
        var firstClaim: Int64 = 0
        var routes: [ModelRoute]
        /// Whether the doorbell is to be rung for it.
        var isWaiting = false
    }

    struct Claim {
        let action: Int64
        let lane: Int
        let worker: Int64
    }

    /// How an action has ended.
    enum End { case success, dead }
    /// Why a claim is gone without an outcome.
    enum Loss { case takenOff, left, givenBack }

    unowned let world: World
    var clockOffset: Duration = .zero
    var isDown = false
    var actions: [Int64: Stored] = [:]
    var lanes: [Lane] = []
    var laneNumbers: [String: Int] = [:]
    var workers: [Int64: Worker] = [:]
    var claims: [Int64: Claim] = [:]
    var tokens: [String: [Int64?]?] = [:]
    var links: [SimulatedLink] = []
    private(set) var ends: [Int64: End] = [:]
    /// The names of the workers that have settled actions for good.
    private(set) var settlers: [Int64: String] = [:]
    private(set) var losses: [Int64: Loss] = [:]
    /// How many actions each line has ever had.
    private(set) var storedCounts: [Int: Int] = [:]
    private var lastEpoch: Int64 = 0
    private var lastAction: Int64 = 0
    private(set) var callCount = 0
    /// Called when a worker gives a claim back that it says it has not started.
    var onGivingBack: (Int64) -> Void = { _ in }

    init(_ world: World) { self.world = world }

    /// Its clock, in microseconds since 1970.
    var now: Int64 { SimulatedClock.origin + Int64((world.now + clockOffset) / .microseconds(1)) }

    func execute(_ sql: String, _ parameters: [String?]) throws(PostgresFailure) -> PostgresRows {
        callCount += 1
        let call = ModelCall(parameters)
        switch ModelCall.function(in: sql) {
        case "step": return try step(call)
        case "chores": return try chores(call)
        case "register": return register(call)
        case "set_routes": return try setRoutes(call)
        case "resync": return try resync(call)
        case "leave": return leave(call)
        case "note_refusal": return .none
        case "oversights": return PostgresRows(columns: ["what", "name"], rows: [])
        case "enqueue_many": return try enqueue(call)
        case "token": return token(call)
        case "work_left": return workLeft(call)
        case "statuses": return runningCount(call)
        case let function?: preconditionFailure("the model of a server has no function \(function)")
        case nil: return Self.answer(to: sql)
        }
    }

    /// What a connection asks before it calls functions.
    private static func answer(to sql: String) -> PostgresRows {
        if sql.contains("current_setting('server_encoding')") {
            return .one([
                "server_encoding": "UTF8", "standard_conforming_strings": "on", "array_nulls": "on",
            ])
        }
        if sql.contains("to_regclass") { return .one(["known": "t"]) }
        if sql.contains("max(version)") { return .one(["version": "\(Migration.postgres.count)"]) }
        let word = sql.prefix { $0 != " " }
        precondition(["BEGIN", "COMMIT", "ROLLBACK", "LISTEN"].contains(word), "the model cannot: \(sql)")
        return .none
    }

    // MARK: - Actions

    func laneNumber(of name: String) -> Int {
        if let number = laneNumbers[name] { return number }
        lanes.append(Lane(name: name))
        laneNumbers[name] = lanes.count - 1
        return lanes.count - 1
    }

    /// Stores an action, and returns its number.
    func store(
        _ queue: String,
        kind: String,
        version: String,
        payload: String,
        trace: String?,
        nonce: String
    ) -> Int64 {
        lastAction += 1
        let lane = laneNumber(of: queue)
        actions[lastAction] = Stored(
            lane: lane,
            kind: kind,
            version: version,
            payload: payload,
            trace: trace,
            nonce: nonce,
            enqueuedAt: now
        )
        lanes[lane].actions.append(lastAction)
        storedCounts[Line.number(in: payload), default: 0] += 1
        return lastAction
    }

    func end(_ action: Int64, _ end: End, by worker: Int64) {
        guard let stored = actions.removeValue(forKey: action) else { return }
        settlers[action] = workers[worker]?.name
        lanes[stored.lane].actions.removeAll { $0 == action }
        ends[action] = end
    }

    // MARK: - Workers

    func newEpoch() -> Int64 {
        lastEpoch += 1
        return lastEpoch
    }

    /// Gives the queue of a claim back.
    func release(_ claim: Int64, _ loss: Loss) {
        guard let lost = claims.removeValue(forKey: claim) else { return }
        lanes[lost.lane].claim = nil
        losses[claim] = loss
        if loss == .givenBack { onGivingBack(claim) }
        world.note("the server gives back claim \(claim) of action \(lost.action): \(loss)")
    }

    func isLocked(_ lane: Int) -> Bool { lanes[lane].lockedUntil > world.now }

    /// Rings the doorbell, if a worker waits for it.
    func ring() {
        guard workers.values.contains(where: \.isWaiting) else { return }
        for link in links { link.ring() }
    }

    /// Has the transaction of somebody else take the lock of a queue.
    func lock(_ chance: inout Chance, for length: Duration) {
        guard !lanes.isEmpty else { return }
        lanes[chance.below(lanes.count)].lockedUntil = world.now + length
    }

    /// Stores a line as SQL of the application does.
    func insert(_ line: Line) {
        do {
            let payload = String(decoding: try JSONEncoder().encode(line), as: UTF8.self)
            _ = store(line.place, kind: Line.kind, version: "1", payload: payload, trace: nil, nonce: "1")
        } catch { preconditionFailure("a payload: \(error)") }
        ring()
    }

    /// Ends the connections of a process that has died.
    func disconnect(_ process: SimulatedProcess) { links.removeAll { $0.process === process } }

    /// Ends all connections.
    func disconnectAll() { for link in links { link.lose() } }
}

/// A route of a worker, as it says.
struct ModelRoute: Decodable {
    let route: Int
    let pattern: String
    let kind: String?

    /// The queues that it matches begin with this.
    var prefix: Substring { pattern.hasSuffix("*") ? pattern.dropLast() : pattern[...] }
}
#endif
