#if Web
internal import Sluice

/// Which dead letters a list shows.
struct LetterFilter: Sendable {
    /// The name of a queue, or a prefix that ends in `/*`.
    var name: String?
    var cause: DeadLetterCause?

    init(_ form: Form) throws(PageError) {
        name = form["queue-pattern"]
        guard let word = form["cause"] else { return }
        guard let cause = DeadLetterCause(rawValue: word) else {
            throw PageError(.invalid, "there is no cause '\(word)' of dead letters")
        }
        self.cause = cause
    }

    var pattern: QueuePattern { name.map { QueuePattern($0) } ?? .all }

    var form: Form {
        var form = Form()
        if let name { form.add("queue-pattern", name) }
        if let cause { form.add("cause", cause.rawValue) }
        return form
    }

    /// The numbers of the dead letters that match.
    func letters(_ broker: any ActionBroker) async throws -> [ActionID] {
        let limit = 1_000
        var ids: [ActionID] = []
        var last: DeadLetter?
        repeat {
            let page = try await broker.deadLetters(pattern, cause: cause, after: last, limit: limit)
            ids += page.map(\.id)
            last = page.count == limit ? page.last : nil
        } while last != nil
        return ids
    }

    /// A description of the selection, for a sentence.
    var description: String {
        "all dead letters" + (name.map { " of \($0)" } ?? "")
            + (cause.map { " with cause \($0.rawValue)" } ?? "")
    }
}
#endif
