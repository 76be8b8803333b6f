/// What keeps a queue from moving until somebody takes it away.
enum QueueObstacle: Equatable {
    case route
    case gate(GateName)
    case hold
    /// Another process runs its actions, one after the other.
    case taken

    /// Whether time alone may remove it.
    var mayEnd: Bool {
        switch self {
        case .gate, .hold: true
        case .route, .taken: false
        }
    }
}
