#if Web
internal import Sluice

/// What an operator can do.
enum Verb: String, Sendable, CaseIterable {
    case retry, skip, hold, resume, clear
    case requeue, purge
    case open, close, end
    case edit, front, move, remove
    case enqueue

    /// What verbs act on; the raw value is the name of a form's field.
    enum SubjectKind: String {
        case queue, letter, action, gate, hold
        case newAction = "new action"

        /// Reads a subject from the value of a field.
        func subject(_ text: String, of verb: Verb) throws(PageError) -> Subject {
            switch self {
            // A pattern covers queues that nobody has counted.
            case .queue: return .queue(verb == .hold ? QueueName(text) : try QueueName(field: text))
            case .letter: return .letter(try ActionID(field: text))
            case .action: return .action(try ActionID(field: text))
            case .gate: return .gate(GateName(text))
            case .hold: return .hold(try HoldID(field: text))
            case .newAction: return .newAction
            }
        }
    }

    /// The acts on queues.
    static let ofQueues: [Verb] = [.retry, .skip, .hold, .resume, .clear]
    /// The acts on dead letters.
    static let ofLetters: [Verb] = [.requeue, .purge]

    var subject: SubjectKind {
        switch self {
        case .retry, .skip, .hold, .resume, .clear: .queue
        case .requeue, .purge: .letter
        case .open, .close: .gate
        case .end: .hold
        case .edit, .front, .move, .remove: .action
        case .enqueue: .newAction
        }
    }

    /// The text of a button.
    var name: String {
        switch self {
        case .retry: "Retry now"
        case .skip: "Skip the head"
        case .hold: "Hold"
        case .resume: "End holds"
        case .clear: "Remove all actions"
        case .requeue: "Requeue"
        case .purge: "Purge"
        case .open: "Open"
        case .close: "Close"
        case .end: "End the hold"
        case .edit: "Store the payload"
        case .front: "Run next"
        case .move: "Move"
        case .remove: "Remove"
        case .enqueue: "Enqueue"
        }
    }

    /// What it will do, for the question before it.
    var consequence: String {
        switch self {
        case .retry:
            "The wait for a retry ends, and a parked head is tried again. Holds and closed gates stay."
        case .skip: "The head becomes a dead letter, and the queue continues with the next action."
        case .hold: "No action starts until the hold ends. Running ones continue."
        case .resume: "Holds of exactly this name end. A hold of a prefix stays: see Holds."
        case .clear:
            "All actions are removed for good, also new ones until it is done. Running ones are cancelled."
        case .requeue: "It goes back to its old place in its queue, with no attempt spent."
        case .purge: "It is deleted for good, with its payload and history."
        case .open: "Actions that wait for it may start."
        case .close: "No action that needs it starts until it is opened."
        case .end: "The queues continue, unless another hold covers them."
        case .edit: "The next attempt gets the new payload."
        case .front: "It starts as the next action of its queue."
        case .move: "It waits in the other queue, at the place of its sort key and number."
        case .remove: "It is removed for good, and cancelled if it runs."
        case .enqueue: "The action is stored, and runs when a process has a route for it."
        }
    }

    /// Whether what it removes cannot be brought back.
    var isFinal: Bool { [.clear, .purge, .remove].contains(self) }
}
#endif
