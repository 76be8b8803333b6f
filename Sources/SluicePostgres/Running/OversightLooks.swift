#if PostgreSQL
internal import Sluice

/// Oversights that looks at a server have found, as ``Oversights`` does for a file.
///
/// Each is reported once, and only when two looks in a row have found it.
struct OversightLooks {
    enum Oversight: Hashable {
        /// A queue for which no worker has a route.
        case queue(String)
        /// A pattern of this worker's routes that no queue matches.
        case pattern(String)
        /// A gate that actions wait for and nobody has set.
        case gate(String)
    }

    /// The most that are remembered, as applications may have a gate for each account.
    private static let limit = 1_000

    /// By the broker's clock, which ``isDue(at:)`` moves on.
    private var next: Duration?
    private var last: Set<Oversight> = []
    private var reported: Set<Oversight> = []

    /// Whether no queue without a route was reported yet.
    private(set) var namesQueues = true

    /// Returns whether to look, which it then counts as done; the first time after ``Oversights/delay``.
    mutating func isDue(at uptime: Duration) -> Bool {
        let isDue = next.map { $0 <= uptime } ?? false
        if isDue || next == nil { next = uptime + Oversights.delay }
        return isDue
    }

    /// Returns what to report.
    mutating func take(_ found: Set<Oversight>) -> [Oversight] {
        let new = found.intersection(last).subtracting(reported)
        last = found
        guard reported.count < Self.limit else { return [] }
        reported.formUnion(new)
        if new.contains(where: { if case .queue = $0 { true } else { false } }) { namesQueues = false }
        return Array(new)
    }

    /// Looks, and returns what to report.
    mutating func look(
        _ connection: PostgresConnection,
        _ patterns: [QueuePattern],
        namesQueues: Bool,
        within limit: Duration
    ) async throws(PostgresFailure) -> [Oversight] {
        let rows = try await connection.call(
            "SELECT what, name FROM @sluice_oversights($1::text[], $2)",
            [PostgresArray.text(patterns.map(\.rawValue)), namesQueues && self.namesQueues ? "1000" : "0"],
            within: limit
        )
        let found = rows.compactMap { row -> Oversight? in
            switch row.text("what") {
            case "queue": .queue(row.text("name"))
            case "pattern": .pattern(row.text("name"))
            case "gate": .gate(row.text("name"))
            default: nil
            }
        }
        return take(Set(found))
    }
}

extension PostgresLoop {
    /// Looks from time to time for a route or a gate that somebody has probably forgotten, and warns of it.
    func lookForOversights(_ work: inout LoopWork) async throws(PostgresFailure) {
        guard work.oversights.isDue(at: options.clock.uptime) else { return }
        let found = try await work.oversights.look(
            connection,
            book.patterns,
            namesQueues: options.namesQueuesWithoutRoute,
            within: server.lease / 3
        )
        let queues = found.compactMap { if case .queue(let name) = $0 { name } else { nil } }
        if let first = queues.min() {
            var event = QueueEvent(.blocked, at: options.clock.now.date, queue: QueueName(first))
            event.because = .noRoute
            report([event])
            options.warn(ofQueuesWithoutRoute: queues.count - 1)
        }
        let patterns = found.compactMap { if case .pattern(let name) = $0 { name } else { nil } }
        options.warn(of: patterns.sorted().map { QueuePattern($0) })
        options.warn(of: found.compactMap { if case .gate(let name) = $0 { GateName(name) } else { nil } })
    }
}
#endif
