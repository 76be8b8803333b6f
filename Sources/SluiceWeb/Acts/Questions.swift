#if Web
internal import Synchronization

/// The questions whether to act that have not been answered, each with its subjects.
///
/// An act is done to the subjects that the question counted, whatever matches when it is answered.
final class Questions: Sendable {
    struct Question: Sendable {
        let verb: Verb
        let subjects: [Subject]
        fileprivate let session: String
    }

    private struct Memory: Sendable {
        var questions: [String: Question] = [:]
        var order: [String] = []
        var subjectCount = 0

        mutating func remove(_ id: String) -> Question? {
            order.removeAll { $0 == id }
            guard let question = questions.removeValue(forKey: id) else { return nil }
            subjectCount -= question.subjects.count
            return question
        }
    }

    /// The oldest questions are forgotten: of more than so many subjects in all, some hundred bytes each.
    private static let subjectLimit = 500_000
    private static let limit = 1_000

    private let memory = Mutex(Memory())

    /// Returns the token of a new question.
    func ask(_ verb: Verb, _ subjects: [Subject], _ session: String) -> String {
        let id = Sessions.secret()
        memory.withLock { memory in
            memory.questions[id] = Question(verb: verb, subjects: subjects, session: session)
            memory.order.append(id)
            memory.subjectCount += subjects.count
            while memory.order.count > 1,
                memory.order.count > Self.limit || memory.subjectCount > Self.subjectLimit
            {
                _ = memory.remove(memory.order[0])
            }
        }
        return id
    }

    /// Returns a question that the session has not answered before.
    func answer(_ id: String?, _ verb: Verb, _ session: String) -> Question? {
        memory.withLock { memory in
            guard let id, let question = memory.questions[id], question.verb == verb,
                question.session == session
            else { return nil }
            return memory.remove(id)
        }
    }
}
#endif
