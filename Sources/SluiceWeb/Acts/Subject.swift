#if Web
internal import Sluice

/// One thing that an act is done to.
enum Subject: Sendable {
    /// A queue, and what it was about to skip when the operator decided.
    case queue(QueueName, head: ActionID? = nil)
    case letter(ActionID)
    case action(ActionID)
    case gate(GateName)
    case hold(HoldID)
    /// An action that does not exist yet.
    case newAction

    /// Whether it is a queue without the head that a skip is to take.
    var isWithoutHead: Bool {
        if case .queue(_, nil) = self { return true }
        return false
    }

    var words: String {
        switch self {
        case .queue(let name, _): "queue \(name.rawValue)"
        case .letter(let id): "dead letter \(id)"
        case .action(let id): "action \(id)"
        case .gate(let name): "gate \(name.rawValue)"
        case .hold(let id): "hold \(id)"
        case .newAction: "an action"
        }
    }

    func html(_ visit: Visit) -> HTML {
        switch self {
        case .queue(let name, _) where !name.isPattern: Widgets.queue(name, visit)
        case .letter(let id), .action(let id): Widgets.action(id, visit)
        default: "\(words)"
        }
    }
}
#endif
