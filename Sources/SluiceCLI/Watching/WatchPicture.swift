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
    /// The living processes that run the queues: their numbers, of a server their names.
    var runners: [String] = []

    /// The order of the counts of states: the more a state needs a person, the earlier.
    static let stateOrder: [QueueStatus.State] = [
        .parked, .undecodable, .unknownKind, .noRoute, .held, .gate, .retry, .stopped, .ready, .running,
        .scheduled, .empty,
    ]
}
#endif
