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
        if verb == .move { _ = try form.required("to") }
        subjects = try Subjects(of: verb, form)
        _ = try duration()
    }

    /// The act and its subjects, for the question, for the audit log and for a job.
    var sentence: String {
        let reason = form["reason"].map { ", because: \($0)" } ?? ""
        let minutes = form["minutes"].map { ", for \($0) minutes" } ?? ""
        return act + reason + minutes
    }

    /// The same where it is done to one, with what its number does not say.
    func sentence(of subject: Subject, _ broker: Broker) async throws -> String {
        var words = sentence
        if case .selected = subjects {} else { words += ": \(subject.words)" }
        switch subject {
        case .hold(let id):
            guard let hold = try await broker.holds().first(where: { $0.id == id }) else { return words }
            return "\(words) of \(hold.pattern.rawValue) by \(hold.holder), because: \(hold.reason)"
        case .action(let id):
            guard let details = try await broker.action(id).details else { return words }
            return "\(words) of queue \(details.queue.rawValue)"
        default: return words
        }
    }

    private var act: String {
        switch verb {
        case .move: "Move \(subjects.words) to queue \(form["to"] ?? "")"
        case .enqueue: "Enqueue an action of kind \(form["kind"] ?? "") in queue \(form["queue"] ?? "")"
        case .edit: "Store a new payload for \(subjects.words)"
        case .front: "Make \(subjects.words) the next of its queue"
        default: "\(verb.name): \(subjects.words)"
        }
    }

    /// The field with the query of the list that an act was chosen in: its filter, its order and its page.
    static let listField = "list"

    private var list: Form? { form[Self.listField].map { Form($0) } }

    /// Where a browser goes afterwards, below the prefix.
    var place: (path: String, query: Form) {
        if verb == .remove || form["then"] == "retry", let queue = form["queue"] {
            // The action may be gone at once; its queue shows what came of it.
            return ("/queue", Form().setting("name", queue))
        }
        return switch subjects {
        case .selected(let subjects): place(of: subjects[0], isAlone: subjects.count == 1)
        case .matchingQueues(let filter): ("/queues", list ?? filter.form)
        case .matchingLetters(let filter): ("/dead", list ?? filter.form)
        case .actions(let queue): ("/queue", Form().setting("name", queue.rawValue))
        case .gates: ("/gates", Form())
        case .holds: ("/holds", Form())
        }
    }

    private func place(of subject: Subject, isAlone: Bool) -> (path: String, query: Form) {
        switch subject {
        case .queue(let name, _) where name.isPattern: ("/holds", Form())
        case .queue(let name, _) where isAlone: ("/queue", Form().setting("name", name.rawValue))
        case .action(let id) where isAlone: ("/action", Form().setting("id", id.description))
        case .queue: ("/queues", list ?? Form())
        case .action: ("/queue", list ?? Form().setting("name", form["queue"]))
        case .newAction: ("/queue", Form().setting("name", form["queue"]))
        case .letter: ("/dead", list ?? Form())
        case .gate: ("/gates", Form())
        case .hold: ("/holds", Form())
        }
    }

    /// Does it to one.
    ///
    /// - Returns: What happened, in a word or two that can be counted.
    func act(on subject: Subject, _ broker: Broker, _ person: Operator) async throws -> String {
        switch subject {
        case .queue(let name, let head): return try await act(on: name, head, broker, person)
        case .action(let id): return try await act(on: id, broker)
        case .letter(let id) where verb == .requeue:
            return try await broker.requeue(id) ? "requeued" : "gone already"
        case .letter(let id): return try await broker.purge(id) ? "purged" : "gone already"
        case .gate(let name) where verb == .open:
            try await broker.openGate(name, isKept: true, spread: .zero)
            return "opened"
        case .gate(let name):
            try await broker.closeGate(name, isKept: true, for: try duration())
            return "closed"
        case .hold(let id): return try await broker.endHold(id) ? "ended" : "ended already"
        case .newAction:
            let action = RawAction(
                queue: QueueName(try form.required("queue")),
                kind: try form.required("kind"),
                payload: try payload()
            )
            let ids = try await broker.enqueue(raw: [action])
            return "stored as action \(ids.first?.description ?? "")"
        }
    }

    private func act(
        on queue: QueueName,
        _ head: ActionID?,
        _ broker: Broker,
        _ person: Operator
    ) async throws -> String {
        let pattern = QueuePattern(queue.rawValue)
        switch verb {
        case .hold:
            let reason = form["reason"] ?? ""
            try await broker.hold(pattern, by: person.name, reason: reason, for: try duration())
            return "held"
        case .resume:
            let count = try await broker.endHolds(matching: pattern, by: nil)
            return count > 0 ? "hold ended" : "no hold of its own"
        case .clear:
            let counts = try await broker.cancel(queues: pattern)
            return counts.signalled > 0 ? "removed, running ones signalled" : "removed"
        case .skip: return try await skip(queue, head, broker, person)
        default: return try await broker.retryNow(pattern) > 0 ? "tried now" : "nothing to end"
        }
    }

    private func skip(
        _ queue: QueueName,
        _ head: ActionID?,
        _ broker: Broker,
        _ person: Operator
    ) async throws -> String {
        guard let head else { return "empty" }
        let last = try await broker.status(of: queue).lastError
        let error = last.map { "; last error: \($0.prefix(500))" } ?? ""
        let reason = form["reason"] ?? "skipped by \(person.name)\(error)"
        // Not another one that has become the head since the operator saw it.
        return switch try await broker.skipHead(of: queue, only: head, reason: reason) {
        case .skipped: "skipped"
        case .other: "not skipped: it has another head now"
        case .running: "not skipped: its head is running"
        case .empty: "empty"
        }
    }

    private func act(on action: ActionID, _ broker: Broker) async throws -> String {
        switch verb {
        case .front: return (try await broker.moveToFront(action)).words
        case .move: return (try await broker.move(action, to: QueueName(try form.required("to")))).words
        case .edit:
            guard let details = try await broker.action(action).details else { return "ended already" }
            var change = ActionChange.conflict
            if form["was"] == details.payload.fingerprint {
                change = try await broker.edit(
                    action,
                    payload: try payload(),
                    replacing: details.payload,
                    ifRunning: .next
                )
            }
            if change == .conflict {
                throw PageError(
                    .conflict,
                    "somebody else has changed the payload since you compared it: compare again"
                )
            }
            if change == .done, form["then"] != "retry" {
                return "stored; if its queue waits for a retry or is parked, it waits until you retry it"
            }
            guard change == .done else { return change.words }
            let count = try await broker.retryNow(QueuePattern(details.queue.rawValue))
            return count > 0 ? "stored, and its queue is tried now" : "stored; its queue waits for no retry"
        default:
            return switch try await broker.cancel(action) {
            case .removed: "removed"
            case .signalled: "running, and asked to end"
            case .tooLate: "ended already"
            }
        }
    }

    /// The new payload, on one line; numbers stay as they are written.
    func payload() throws(PageError) -> String {
        // Editors write a mark of the byte order, which is no JSON.
        let ignored = CharacterSet.whitespacesAndNewlines.union(["\u{FEFF}"])
        let text = try form.required("payload").trimmingCharacters(in: ignored)
        do {
            _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        } catch {
            let reason = (error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String
            let words = Self.withLine(reason ?? error.localizedDescription, of: text)
            throw PageError(.invalid, "the payload is no JSON: \(words)")
        }
        return JSONTree(text)?.compact ?? text
    }

    /// Replaces the number of a byte by its line and column, which an editor shows.
    private static func withLine(_ reason: String, of text: String) -> String {
        reason.replacing(#/character (\d+)/#) { match in
            let start = text.utf8.prefix(Int(match.1) ?? 0)
            let lines = start.split(separator: 10, omittingEmptySubsequences: false)
            let column = lines.last.map { String(decoding: $0, as: UTF8.self).count + 1 } ?? 1
            return "line \(lines.count), column \(column)"
        }
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
        case .conflict: "not done: somebody else has changed it"
        case .missing: "not done: it has ended"
        }
    }
}
#endif
