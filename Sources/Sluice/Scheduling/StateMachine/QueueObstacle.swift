/// What keeps a queue from moving until somebody takes it away.
enum QueueObstacle: Equatable {
    case route
    case gate(GateName)
    case hold
    /// Another process runs its actions, one after the other.
    case taken

    /// Whether another route may remove it.
    var mayBeOfRoute: Bool {
        switch self {
        case .route, .gate: true
        case .hold, .taken: false
        }
    }

    /// Whether time alone may remove it.
    var mayEnd: Bool {
        switch self {
        case .gate, .hold: true
        case .route, .taken: false
        }
    }
}
