#if Web
internal import Sluice

/// What an act is done to.
enum Subjects: Sendable {
    case queues([QueueName])
    case matchingQueues(QueueFilter)
    case letters([ActionID])
    case matchingLetters(LetterFilter)
    case action(ActionID)
    case gate(GateName)
    case hold(HoldID)
    case nothing

    /// Reads them from the fields of a form.
    init(of verb: Verb, _ form: Form) throws(PageError) {
        let isMatching = form["scope"] == "matching"
        switch verb {
        case .retry, .skip, .hold, .resume, .clear:
            if isMatching {
                self = .matchingQueues(try QueueFilter(form))
            } else {
                self = .queues(form.all("queue").map { QueueName($0) })
            }
        case .requeue, .purge:
            if isMatching {
                self = .matchingLetters(try LetterFilter(form))
            } else {
                var letters: [ActionID] = []
                for text in form.all("letter") {
                    letters.append(try ActionID(field: "letter", in: Form().setting("letter", text)))
                }
                self = .letters(letters)
            }
        case .edit, .front, .move, .remove: self = .action(try ActionID(field: "action", in: form))
        case .open, .close: self = .gate(GateName(try form.required("gate")))
        case .end:
            guard let number = Int64(try form.required("hold")) else {
                throw PageError(.invalid, "'\(form["hold"] ?? "")' is no number of a hold")
            }
            self = .hold(HoldID(rawValue: number))
        case .enqueue: self = .nothing
        }
        switch self {
        case .queues(let names) where names.isEmpty: throw PageError(.invalid, "no queue is selected")
        case .letters(let ids) where ids.isEmpty: throw PageError(.invalid, "no dead letter is selected")
        default: break
        }
    }

    /// What they are called in a sentence.
    var words: String {
        switch self {
        case .queues(let names) where names.count == 1: "queue \(names[0].rawValue)"
        case .queues(let names): "\(names.count) queues"
        case .matchingQueues(let filter): filter.description
        case .letters(let ids) where ids.count == 1: "dead letter \(ids[0])"
        case .letters(let ids): "\(ids.count) dead letters"
        case .matchingLetters(let filter): filter.description
        case .action(let id): "action \(id)"
        case .gate(let name): "gate \(name.rawValue)"
        case .hold(let id): "hold \(id)"
        case .nothing: "an action"
        }
    }
}

extension Form {
    /// Returns the value of a field that must have one.
    func required(_ name: String) throws(PageError) -> String {
        guard let value = self[name] else { throw PageError(.invalid, "the field \(name) is empty") }
        return value
    }
}
#endif
