#if CommandLineTool
internal import Sluice

/// The state of the file at one moment.
struct WatchPicture {
    /// A queue with work.
    struct Lane {
        let status: QueueStatus
        /// Actions a second that arrived and ended since the previous read; `nil` at the first.
        var rateIn: Double?
        var rateOut: Double?

        var name: QueueName { status.queue }
    }

    /// Queues that need a person are first.
    var lanes: [Lane] = []
    var actionCount = 0
    var rateIn: Double?
    var rateOut: Double?
    /// How many queues each state has.
    var states: [QueueStatus.State: Int] = [:]
    /// The living processes that run the queues.
    var runners: [Int64] = []

    /// The order of states: the more a state needs a person, the earlier.
    static let stateOrder: [QueueStatus.State] = [
        .parked, .undecodable, .unknownKind, .noRoute, .held, .gate, .retry, .stopped, .ready, .running,
        .scheduled, .empty,
    ]

    private static let ranks = Dictionary(
        uniqueKeysWithValues: stateOrder.enumerated().map { ($0.element, $0.offset) }
    )

    /// Returns whether a lane is above another one.
    static func isAbove(_ left: Lane, _ right: Lane) -> Bool {
        let ranks = (ranks[left.status.state] ?? 0, ranks[right.status.state] ?? 0)
        if ranks.0 != ranks.1 { return ranks.0 < ranks.1 }
        if left.status.oldestAge != right.status.oldestAge {
            return left.status.oldestAge > right.status.oldestAge
        }
        return left.name.rawValue < right.name.rawValue
    }
}
#endif
