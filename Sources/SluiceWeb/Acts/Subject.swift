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

    /// Reads one from the value of a field.
    init(_ text: String, _ field: ActButton.Field, of kind: Act.Kind) throws(PageError) {
        switch field {
        // A pattern covers queues that nobody has counted.
        case .queue: self = .queue(kind == .hold ? QueueName(text) : try QueueName(field: text))
        case .letter: self = .letter(try ActionID(field: text))
        case .action: self = .action(try ActionID(field: text))
        case .gate: self = .gate(GateName(text))
        case .hold: self = .hold(try HoldID(field: text))
        }
    }

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

/// What a kind of act needs; a form names it by the field of its button.
extension Subject {
    var action: ActionID {
        get throws(PageError) {
            guard case .action(let id) = self else { throw mismatch }
            return id
        }
    }

    var letter: ActionID {
        get throws(PageError) {
            guard case .letter(let id) = self else { throw mismatch }
            return id
        }
    }

    var pattern: QueuePattern {
        get throws(PageError) {
            guard case .queue(let name, _) = self else { throw mismatch }
            return QueuePattern(name.rawValue)
        }
    }

    var gate: GateName {
        get throws(PageError) {
            guard case .gate(let name) = self else { throw mismatch }
            return name
        }
    }

    var hold: HoldID {
        get throws(PageError) {
            guard case .hold(let id) = self else { throw mismatch }
            return id
        }
    }

    private var mismatch: PageError { PageError(.invalid, "the act cannot be done to \(words)") }
}
#endif
