package enum WorkPage: Sendable, Hashable {
    /// The first page: it has no limit, since memory already holds its queues.
    case newest(thenLimit: Int)
    case ordered(after: QueueID, limit: Int)

    var limit: Int {
        switch self {
        case .newest(let limit), .ordered(_, let limit): limit
        }
    }
}
