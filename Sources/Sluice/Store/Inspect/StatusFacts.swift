internal import SluiceSQLite

/// The values of a snapshot that apply to all queues.
struct StatusFacts: Sendable {
    /// The live processes that run the queues, those first that have done so longest.
    ///
    /// If a process has died and left a program running, `process` is the one that ends that program.
    let runners: [(epoch: Int64, process: Int, hasDied: Bool)]
    /// The routes of each, by its epoch; none if it is this process alone.
    private let routes: [Int64: [ShownRoute]]
    let hasClaims: Bool
    /// The open gates, and those that the next broker opens, as their time has come.
    let openGates: Set<GateName>
    /// When gates that are closed open by themselves.
    let gateEnds: [GateName: Timestamp]
    /// The times of rate limits that have counted starts: see ``Admission/Rate/nextStart(_:at:)``.
    let rateTimes: [String: Timestamp]
    /// The current holds of single queues: there may be one for each.
    private let holdsOfQueues: [QueueName: [Hold]]
    /// The current holds of several queues.
    private let wideHolds: [(pattern: QueuePattern.Form, hold: Hold)]
    let walPath: String?

    init(
        _ connection: Connection,
        _ rows: [RunnerRow],
        seenFrom me: ProcessIdentity,
        now: Timestamp
    ) throws(SQLiteError) {
        let runners = rows.map {
            let keeper = $0.leftover(seenFrom: me)
            return (epoch: $0.epoch, process: Int((keeper ?? $0.process).pid), hasDied: keeper != nil)
        }
        self.runners = runners
        let isAlone = rows.allSatisfy { $0.process == me }
        routes = isAlone ? [:] : try ShownRoute.all(connection)
        walPath = connection.walPath
        let claims = Set(
            try connection.cached("SELECT claim >> 32 FROM sluice_claim_rows").all { $0.int64(0) }
        )
        hasClaims = claims.contains { claim in runners.contains { $0.epoch == claim } }
        let gates = try connection.cached("SELECT name, is_open, opens_at_us FROM sluice_gate_rows").all {
            (name: GateName($0.text(0)), isOpen: $0.bool(1), end: $0.optionalInt64(2))
        }
        openGates = Set(gates.filter { $0.isOpen || ($0.end ?? .max) <= now.microseconds }.map(\.name))
        gateEnds = gates.reduce(into: [:]) { $0[$1.name] = $1.end.map(Timestamp.init(microseconds:)) }
        let rates = try connection.cached("SELECT name, next_at_us FROM sluice_rate_rows").all {
            ($0.text(0), Timestamp(microseconds: $0.int64(1)))
        }
        rateTimes = Dictionary(rates) { _, last in last }
        var (ofQueues, wide): ([QueueName: [Hold]], [(pattern: QueuePattern.Form, hold: Hold)]) = ([:], [])
        for hold in try Hold.standing(connection, at: now) {
            switch try? hold.pattern.form() {
            case .exact(let queue): ofQueues[queue, default: []].append(hold)
            case let form?: wide.append((form, hold))
            case nil: break
            }
        }
        (holdsOfQueues, wideHolds) = (ofQueues, wide)
    }

    /// Returns the living processes, but for one, that have a route for a head.
    func processes(withRouteFor queue: QueueName, kind: String, but mine: Int64?) -> [Int] {
        runners.filter { runner in
            guard !runner.hasDied, runner.epoch != mine else { return false }
            return routes[runner.epoch]?.contains { $0.matches(queue, kind: kind) } == true
        }.map(\.process)
    }

    /// Returns the holds that cover a queue, the oldest first.
    func holds(of queue: QueueName) -> [Hold] {
        let wide = wideHolds.lazy.filter { $0.pattern.matches(queue) }.map(\.hold)
        return ((holdsOfQueues[queue] ?? []) + wide).sorted { $0.id.rawValue < $1.id.rawValue }
    }
}
