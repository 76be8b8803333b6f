internal import Logging
internal import Synchronization

/// Finds what somebody has probably forgotten: a route, or the opening of a gate.
///
/// Each is reported once a broker, and only when it has lasted ``delay``: gates are often opened and routes
/// added after the start.
package final class Oversights: Sendable {
    /// From the first sign to the report.
    package static let delay: Duration = .seconds(10)
    /// From the first call that waits for a run to the warning that nothing runs the queues.
    static let runnerDelay: Duration = .seconds(1)
    /// The most gates that are remembered, as applications may have one for each account.
    private static let gateLimit = 1_000

    struct Found {
        /// Queues without a route that no line has named.
        var unnamed = 0
        var hasRouteless = false
        /// Whether an event of this broker has named one.
        var isNamed = false
        var gates: Set<GateName> = []
    }

    private struct State {
        var found = Found()
        var known: Set<GateName> = []
        var hasNamed = false
        var hasReportedRouteless = false
        var isScheduled = false
        var patterns: Set<QueuePattern> = []
    }

    private let state = Mutex(State())

    /// Records that a queue has no route.
    func lacksRoute() { state.withLock { $0.found.hasRouteless = true } }

    /// Returns whether a queue without a route should be named by a line of its own.
    func namesRouteless() -> Bool {
        state.withLock { state in
            if !state.hasNamed {
                state.hasNamed = true
                return true
            }
            state.found.unnamed += 1
            return false
        }
    }

    /// Records a closed gate that keeps actions from starting; returns whether it is a new one.
    func meets(_ gate: GateName) -> Bool {
        state.withLock { state in
            guard state.known.count < Self.gateLimit, state.known.insert(gate).inserted else { return false }
            state.found.gates.insert(gate)
            return true
        }
    }

    /// Returns whether a report has to be scheduled.
    func needsReport() -> Bool {
        state.withLock { state in
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
    }

    func takeFound() -> Found {
        state.withLock { state in
            defer { (state.found, state.isScheduled) = (Found(), false) }
            state.found.isNamed = state.hasNamed
            return state.found
        }
    }

    /// Whether queues without a route were reported as a whole, which they are once.
    var hasReportedRouteless: Bool { state.withLock { $0.hasReportedRouteless } }

    func noteRoutelessReport() { state.withLock { $0.hasReportedRouteless = true } }

    /// Returns those patterns that were not reported before.
    func new(_ patterns: [QueuePattern]) -> [QueuePattern] {
        state.withLock { state in patterns.filter { state.patterns.insert($0).inserted } }
    }
}

extension BrokerOptions {
    /// Warns of queues without a route besides one that was named.
    package func warn(ofQueuesWithoutRoute count: Int) {
        guard count > 0 else { return }
        oversightLogger.warning("no route for other queues", metadata: ["count": "\(count)"])
    }

    /// Warns of queues whose heads have no route.
    func warn(of queues: Store.Routeless) {
        var facts: Logger.Metadata = ["queue": "\(queues.first)", "count": "\(queues.count)"]
        if let kind = queues.kind { facts["kind"] = "\(kind)" }
        oversightLogger.warning("actions wait for a route that nobody has added", metadata: facts)
    }

    /// Warns of patterns of routes that no queue matches.
    package func warn(of patterns: [QueuePattern]) {
        for pattern in patterns {
            oversightLogger.warning(LogMessages.unmatchedPattern, metadata: ["pattern": "\(pattern)"])
        }
    }

    /// Warns of gates that were never opened or closed.
    package func warn(of gates: [GateName]) {
        guard let first = gates.min(by: { $0.rawValue < $1.rawValue }) else { return }
        var facts: Logger.Metadata = ["gate": "\(first)"]
        if gates.count > 1 { facts["count"] = "\(gates.count)" }
        oversightLogger.warning("actions wait for a gate that nobody has opened", metadata: facts)
    }
}
