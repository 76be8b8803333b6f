#if Web
internal import Foundation
internal import Sluice

/// An act, with all that it needs: what a form says.
struct Command: Sendable {
    let verb: Verb
    let subjects: Subjects
    let form: Form

    init(_ form: Form) throws(PageError) {
        guard let verb = form["act"].flatMap(Verb.init(rawValue:)) else {
            throw PageError(.invalid, "there is no act '\(form["act"] ?? "")'")
        }
        (self.verb, self.form) = (verb, form)
        subjects = try Subjects(of: verb, form)
    }

    /// The act and its subjects, for the question, for the audit log and for a job.
    var sentence: String {
        switch verb {
        case .move: "Move \(subjects.words) to queue \(form["to"] ?? "")"
        case .enqueue: "Enqueue an action of kind \(form["kind"] ?? "") in queue \(form["queue"] ?? "")"
        case .edit: "Store a new payload for \(subjects.words)"
        case .front: "Make \(subjects.words) the next of its queue"
        default: "\(verb.name): \(subjects.words)"
        }
    }

    /// Where a browser goes afterwards, below the prefix.
    var place: (path: String, query: Form) {
        switch subjects {
        case .queues(let names) where names.count == 1 && !names[0].rawValue.hasSuffix("*"):
            ("/queue", Form().setting("name", names[0].rawValue))
        case .queues: verb == .hold ? ("/holds", Form()) : ("/queues", Form())
        case .matchingQueues(let filter): ("/queues", filter.form)
        case .letters: ("/dead", Form())
        case .matchingLetters(let filter): ("/dead", filter.form)
        case .action(let id): ("/action", Form().setting("id", id.description))
        case .gate: ("/gates", Form())
        case .hold: ("/holds", Form())
        case .nothing: ("/queue", Form().setting("name", form["queue"]))
        }
    }

    /// Does it to one queue.
    ///
    /// - Returns: What happened, in a word or two that can be counted.
    func act(on queue: QueueName, _ broker: any ActionBroker, _ person: Operator) async throws -> String {
        let pattern = QueuePattern(queue.rawValue)
        switch verb {
        case .retry: return try await broker.retryNow(pattern) > 0 ? "tried now" : "nothing to end"
        case .hold:
            let reason = form["reason"] ?? ""
            _ = try await broker.hold(pattern, by: person.name, reason: reason, for: try duration())
            return "held"
        case .resume:
            return try await broker.endHolds(matching: pattern, by: nil) > 0
                ? "hold ended" : "no hold of its own"
        case .clear:
            let counts = try await broker.cancel(queues: pattern)
            return counts.signalled > 0 ? "removed, running ones signalled" : "removed"
        case .skip:
            let status = try await broker.status(of: queue)
            guard let head = status.head else { return "empty" }
            // Not another one that has become the head since the operator saw it.
            if let seen = form["head"], seen != head.description {
                return "not skipped: it has another head now"
            }
            switch try await broker.skipHead(of: queue, reason: form["reason"] ?? "skipped by \(person.name)")
            {
            case .skipped: return "skipped"
            case .running: return "not skipped: its head is running"
            case .empty: return "empty"
            }
        default: throw PageError(.invalid, "\(verb.rawValue) is no act on queues")
        }
    }

    /// Does it to one dead letter.
    func act(on letter: ActionID, _ broker: any ActionBroker) async throws -> String {
        switch verb {
        case .requeue: try await broker.requeue(letter) ? "requeued" : "gone already"
        case .purge: try await broker.purge(letter) ? "purged" : "gone already"
        default: throw PageError(.invalid, "\(verb.rawValue) is no act on dead letters")
        }
    }

    /// Does it to a gate, a hold or an action.
    func act(_ broker: any ActionBroker, _ person: Operator) async throws -> String {
        switch (verb, subjects) {
        case (.open, .gate(let name)):
            try await broker.openGate(name, isKept: true, spread: .zero)
            return "opened"
        case (.close, .gate(let name)):
            try await broker.closeGate(name, isKept: true, for: try duration())
            return "closed"
        case (.end, .hold(let id)): return try await broker.endHold(id) ? "ended" : "it had ended already"
        case (.remove, .action(let id)):
            switch try await broker.cancel(id) {
            case .removed: return "removed"
            case .signalled: return "it is running, and has been asked to end"
            case .tooLate: return "it has ended already"
            }
        case (.front, .action(let id)): return (try await broker.moveToFront(id)).words
        case (.move, .action(let id)):
            return (try await broker.move(id, to: QueueName(try form.required("to")))).words
        case (.edit, .action(let id)):
            guard let details = try await broker.action(id).details else { return "it has ended already" }
            guard form["was"] == Self.mark(of: details.payload) else {
                throw PageError(
                    .conflict,
                    "somebody else has changed the payload since you compared it: compare again"
                )
            }
            return (try await broker.edit(id, payload: try payload(), ifRunning: .next)).words
        case (.enqueue, _):
            let action = RawAction(
                queue: QueueName(try form.required("queue")),
                kind: try form.required("kind"),
                payload: try payload()
            )
            let ids = try await broker.enqueue(raw: [action])
            return "stored as action \(ids.first?.description ?? "")"
        default: throw PageError(.invalid, "\(verb.rawValue) does not fit its subject")
        }
    }

    /// The new payload, on one line.
    func payload() throws(PageError) -> String {
        let text = try form.required("payload").trimmingCharacters(in: .whitespacesAndNewlines)
        do {
            _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        } catch {
            throw PageError(.invalid, "the payload is no JSON: \(error.localizedDescription)")
        }
        return text
    }

    /// A short text that differs for other payloads.
    static func mark(of payload: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in payload.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }

    /// How long a hold or a closed gate lasts; `nil` is until somebody ends it.
    private func duration() throws(PageError) -> Duration? {
        guard let text = form["minutes"] else { return nil }
        guard let minutes = Int(text), (1...525_600).contains(minutes) else {
            throw PageError(.invalid, "'\(text)' is no number of minutes from 1 to 525600")
        }
        return .seconds(minutes * 60)
    }
}

extension ActionChange {
    /// What happened, for the operator.
    fileprivate var words: String {
        switch self {
        case .done: "done"
        case .deferred: "it is running: this applies when the attempt ends"
        case .running: "not done: it is running"
        case .missing: "not done: it has ended"
        }
    }
}
#endif
