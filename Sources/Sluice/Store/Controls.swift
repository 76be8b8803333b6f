/// What the file says about gates and holds.
///
/// There are few of either, so that the writer knows them all.
package struct Controls: Sendable {
    struct GateState: Sendable {
        var isOpen: Bool
        /// The value that the counter `opening` got when it was opened last.
        var opening: Int64
    }

    struct StandingHold: Sendable {
        let id: HoldID
        let scope: QueuePattern
        let holder: String
        let pattern: QueuePattern.Form
        let until: Timestamp?
    }

    var gates: [GateName: GateState] = [:]
    var holds: [StandingHold] = []
    /// The counter `opening`.
    var opening: Int64 = 0

    /// Whether what waits for a gate may start.
    package func isOpen(_ gate: GateName) -> Bool { gates[gate]?.isOpen ?? false }

    /// Whether a hold covers a queue, and when that ends by itself.
    ///
    /// - Parameters:
    ///   - now: By the wall clock.
    ///   - uptime: The same moment by the clock's uptime.
    func hold(of queue: QueueName, at now: Timestamp, _ uptime: Duration) -> HoldEnd? {
        var end: HoldEnd?
        for hold in holds where hold.pattern.matches(queue) {
            guard let until = hold.until else { return .never }
            if until > now { end = max(end ?? .at(uptime), .at(uptime + (until - now))) }
        }
        return end
    }
}

/// When a queue that is held moves again by itself.
package enum HoldEnd: Hashable, Comparable, Sendable {
    /// At a time by the clock's uptime, if no other hold comes.
    case at(Duration)
    case never
}

extension QueuePattern.Form {
    /// Whether a name has this pattern.
    package func matches(_ name: QueueName) -> Bool {
        switch self {
        case .exact(let exact): exact == name
        case .prefix(let bytes): name.rawValue.utf8.starts(with: bytes)
        }
    }
}

/// A gate that a commit has opened.
package struct GateOpening: Sendable, Hashable {
    package let gate: GateName
    /// The time over which those who wait are to start.
    package let spread: Duration
}
