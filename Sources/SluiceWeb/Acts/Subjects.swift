#if Web
internal import Sluice

/// What an act is done to.
enum Subjects: Sendable {
    case selected([Subject])
    case matchingQueues(QueueFilter)
    case matchingLetters(LetterFilter)
    case actions(of: QueueName)
    case gates
    case holds

    /// Reads them from the fields of a form.
    init(of kind: Act.Kind, _ field: ActButton.Field, _ form: Form) throws(PageError) {
        let isMatching = form["scope"] == "matching"
        switch field {
        case .queue where isMatching: self = .matchingQueues(try QueueFilter(form))
        case .letter where isMatching: self = .matchingLetters(try LetterFilter(form))
        case .action where isMatching: self = .actions(of: try QueueName(field: form["queue"]))
        case .gate where isMatching: self = .gates
        case .hold where isMatching: self = .holds
        case .queue, .letter, .action, .gate, .hold:
            // By bytes: two names that only look the same are two.
            var (subjects, known): ([Subject], Set<[UInt8]>) = ([], [])
            for text in form.all(field.rawValue) where known.insert(Array(text.utf8)).inserted {
                subjects.append(try Subject(text, field, of: kind))
            }
            guard !subjects.isEmpty else { throw PageError(.invalid, "no \(field.rawValue) is selected") }
            if subjects.count == 1, case .queue(let name, _) = subjects[0], let head = form["head"] {
                subjects = [.queue(name, head: try ActionID(field: head))]
            }
            self = .selected(subjects)
        }
    }

    /// Returns all of them as they are now.
    func all(_ site: OperatorPage) async throws -> [Subject] {
        switch self {
        case .selected(let subjects): subjects
        case .matchingQueues(let filter): try await filter.queues(site.broker)
        case .matchingLetters(let filter): try await filter.letters(site.broker).map(Subject.letter)
        case .actions(let queue):
            try await site.broker.actionOutlines(QueuePattern(queue.rawValue), limit: .max)
                .map { .action($0.id) }
        case .gates: try await site.broker.gates().map { .gate($0.name) }
        case .holds: try await site.broker.holds().map { .hold($0.id) }
        }
    }

    /// A description for a sentence.
    var words: String {
        switch self {
        case .selected(let subjects) where subjects.count == 1: subjects[0].words
        case .selected(let subjects): "\(subjects.count) selected"
        case .matchingQueues(let filter): filter.description
        case .matchingLetters(let filter): filter.description
        case .actions(let queue): "all actions of queue \(queue.rawValue)"
        case .gates: "all gates"
        case .holds: "all holds"
        }
    }
}
#endif
