#if Web
internal import Sluice

/// An act that a form asks for, with all that it needs.
struct ActForm: Sendable {
    let kind: Act.Kind
    let button: ActButton
    let subjects: Subjects
    let form: Form

    init(_ form: Form) throws(PageError) {
        guard let kind = form["act"].flatMap(Act.Kind.init(rawValue:)), let button = kind.button else {
            throw PageError(.invalid, "there is no act '\(form["act"] ?? "")'")
        }
        (self.kind, self.button, self.form) = (kind, button, form)
        if kind == .move { _ = try form.required("to") }
        subjects = try Subjects(of: kind, button.field, form)
        _ = try duration()
    }

    /// The act and its subjects, for the question, for the audit log and for a job.
    var sentence: String {
        let reason = form["reason"].map { ", because: \($0)" } ?? ""
        let minutes = form["minutes"].map { ", for \($0) minutes" } ?? ""
        let act =
            switch kind {
            case .move: "Move \(subjects.words) to queue \(form["to"] ?? "")"
            case .edit: "Store a new payload for \(subjects.words)"
            case .moveToFront: "Make \(subjects.words) the next of its queue"
            default: "\(button.name): \(subjects.words)"
            }
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
        case .queue, .letter, .gate: return words
        }
    }

    /// The field with the query of the list that an act was chosen in: its filter, its order and its page.
    static let listField = "list"

    private var list: Form? { form[Self.listField].map { Form($0) } }

    /// Where a browser goes afterwards, below the prefix.
    var place: (path: String, query: Form) {
        if kind == .cancel || form["then"] == "retry", let queue = form["queue"] {
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
        case .letter: ("/dead", list ?? Form())
        case .gate: ("/gates", Form())
        case .hold: ("/holds", Form())
        }
    }

    /// How long a hold or a closed gate lasts; `nil` is until somebody ends it.
    func duration() throws(PageError) -> Duration? {
        guard let text = form["minutes"] else { return nil }
        guard let minutes = Int(text), (1...525_600).contains(minutes) else {
            throw PageError(.invalid, "'\(text)' is no number of minutes from 1 to 525600")
        }
        return .seconds(minutes * 60)
    }
}
#endif
