/// What part of the queues with work is asked for.
package enum WorkPage: Sendable, Hashable {
    /// The first, without a limit: memory has them anyway.
    case newest(thenLimit: Int)
    case ordered(after: QueueID, limit: Int)

    var limit: Int {
        switch self {
        case .newest(let limit), .ordered(_, let limit): limit
        }
    }
}
