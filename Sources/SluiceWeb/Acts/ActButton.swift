#if Web
internal import Sluice

/// What the page offers of a kind of act.
struct ActButton {
    /// What it is done to: the field of a form that names one.
    enum Field: String {
        case queue, letter, action, gate, hold
    }

    let field: Field
    /// The text of the button.
    let name: String
    /// What it will do, for the question before it.
    let consequence: String
    /// Whether what it removes cannot be brought back.
    let isFinal: Bool

    init(_ field: Field, _ name: String, isFinal: Bool = false, _ consequence: String) {
        (self.field, self.name, self.consequence, self.isFinal) = (field, name, consequence, isFinal)
    }

    /// The acts on queues.
    static let ofQueues: [Act.Kind] = [.retryNow, .skipHead, .hold, .endHolds, .cancelAll]
    /// The acts on dead letters.
    static let ofLetters: [Act.Kind] = [.requeue, .purge]
}

extension Act.Kind {
    /// Its button; `nil` for what the page does not offer.
    var button: ActButton? {
        switch self {
        case .cancel:
            ActButton(.action, "Remove", isFinal: true, "It is removed for good, and cancelled if it runs.")
        case .cancelAll:
            ActButton(
                .queue,
                "Remove all actions",
                isFinal: true,
                "All actions are removed for good, also new ones until it is done. "
                    + "Running ones are cancelled."
            )
        case .move:
            ActButton(
                .action,
                "Move",
                "It waits in the other queue, at the place of its sort key and number."
            )
        case .moveToFront: ActButton(.action, "Run next", "It starts as the next action of its queue.")
        case .edit: ActButton(.action, "Store the payload", "The next attempt gets the new payload.")
        case .skipHead:
            ActButton(
                .queue,
                "Skip the head",
                "The head becomes a dead letter, and the queue continues with the next action."
            )
        case .retryNow:
            ActButton(
                .queue,
                "Retry now",
                "The wait for a retry ends, and a parked head is tried again. Holds and closed gates stay."
            )
        case .hold:
            ActButton(.queue, "Hold", "No action starts until the hold ends. Running ones continue.")
        case .endHolds:
            ActButton(
                .queue,
                "End holds",
                "Holds of exactly this name end. A hold of a prefix stays: see Holds."
            )
        case .endHold:
            ActButton(.hold, "End the hold", "The queues continue, unless another hold covers them.")
        case .openGate: ActButton(.gate, "Open", "Actions that wait for it may start.")
        case .closeGate: ActButton(.gate, "Close", "No action that needs it starts until it is opened.")
        case .requeue:
            ActButton(
                .letter,
                "Requeue",
                "It goes back to its old place in its queue, with no attempt spent."
            )
        case .purge:
            ActButton(
                .letter,
                "Purge",
                isFinal: true,
                "It is deleted for good, with its payload and history."
            )
        case .reschedule, .setExpiry, .setTag, .runNow, .requeueAtEnd, .requeueAll, .purgeAll: nil
        }
    }
}

extension Act.Kind {
    /// Returns what happened to one, in a word or two that can be counted.
    func words(of result: ActResult) -> String {
        let isDone = result.outcome == .done
        return switch self {
        case .cancel:
            switch result.outcome {
            case .done: "removed"
            case .deferred: "running, and asked to end"
            case .running, .conflict, .missing: "ended already"
            }
        case .cancelAll: result.deferred > 0 ? "removed, running ones signalled" : "removed"
        case .skipHead:
            switch result.outcome {
            case .done, .deferred: "skipped"
            case .conflict: "not skipped: it has another head now"
            case .running: "not skipped: its head is running"
            case .missing: "empty"
            }
        case .retryNow, .runNow: isDone ? "tried now" : "nothing to end"
        case .hold: "held"
        case .endHolds: isDone ? "hold ended" : "no hold of its own"
        case .endHold: isDone ? "ended" : "ended already"
        case .openGate: "opened"
        case .closeGate: "closed"
        case .requeue, .requeueAtEnd, .requeueAll: isDone ? "requeued" : "gone already"
        case .purge, .purgeAll: isDone ? "purged" : "gone already"
        case .move, .moveToFront, .edit, .reschedule, .setExpiry, .setTag: result.outcome.words
        }
    }
}

extension ActionChange {
    /// What happened, for the operator.
    fileprivate var words: String {
        switch self {
        case .done: "done"
        case .deferred: "it is running: this applies when the attempt ends"
        case .running: "not done: it is running"
        case .conflict: "not done: somebody else has changed it"
        case .missing: "not done: it has ended"
        }
    }
}
#endif
