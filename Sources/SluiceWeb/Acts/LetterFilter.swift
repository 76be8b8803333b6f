#if Web
internal import Sluice

/// Which dead letters a list shows.
struct LetterFilter: Sendable {
    /// The name of a queue, or a prefix that ends in `/*`.
    var queue: String?
    /// A part of the queue's name, in upper or lower case.
    var name: String?
    /// A part of the kind, in upper or lower case.
    var kind: String?
    var cause: FailureCause?

    /// How many dead letters are read for one page or one count.
    static let readLimit = 10_000
    /// How many are read at the same time.
    private static let batch = 100

    init() {}

    init(_ form: Form) throws(PageError) {
        queue = form["queue-pattern"]
        (name, kind) = (form["name"], form["kind"])
        guard let word = form["cause"] else { return }
        guard let cause = FailureCause(rawValue: word) else {
            throw PageError(.invalid, "there is no cause '\(word)' of dead letters")
        }
        self.cause = cause
    }

    var isEmpty: Bool { form.fields.isEmpty }

    private var pattern: QueuePattern { queue.map { QueuePattern($0) } ?? .all }

    var form: Form {
        var form = Form()
        if let queue { form.add("queue-pattern", queue) }
        if let name { form.add("name", name) }
        if let kind { form.add("kind", kind) }
        if let cause { form.add("cause", cause.rawValue) }
        return form
    }

    /// A part of a list.
    struct Extract: Sendable {
        /// The newest first.
        var letters: [DeadLetterOutline] = []
        /// The place of the last one that was read, if there may be more.
        var last: DeadLetterPlace?
    }

    /// Reads the dead letters that match after a place, the newest first.
    ///
    /// - Parameters:
    ///   - limit: How many are wanted.
    ///   - readLimit: How many are read at most: of a rare name, a page may have fewer than it has room for.
    func extract(
        _ broker: Broker,
        after start: DeadLetterPlace? = nil,
        limit: Int,
        readLimit: Int = Self.readLimit
    ) async throws -> Extract {
        let (namePart, kindPart) = (name.map(TextPart.init), kind.map(TextPart.init))
        let isPlain = namePart == nil && kindPart == nil
        let size = isPlain ? min(limit + 1, Self.batch) : Self.batch
        var (extract, readCount) = (Extract(last: start), 0)
        while readCount < readLimit {
            let page = try await broker.deadLetterOutlines(
                pattern,
                cause: cause,
                after: extract.last,
                limit: size
            )
            readCount += page.count
            for (index, letter) in page.enumerated() {
                extract.last = letter.place
                guard namePart?.occurs(in: letter.queue.rawValue) ?? true,
                    kindPart?.occurs(in: letter.kind) ?? true
                else { continue }
                extract.letters.append(letter)
                guard extract.letters.count == limit else { continue }
                if index == page.count - 1, page.count < size { extract.last = nil }
                return extract
            }
            if page.count < size {
                extract.last = nil
                return extract
            }
        }
        return extract
    }

    /// The numbers of the dead letters that match.
    func letters(_ broker: Broker) async throws -> [ActionID] {
        try await extract(broker, limit: .max - 1, readLimit: .max).letters.map(\.id)
    }

    /// A description of the selection, for a sentence.
    var description: String {
        "all dead letters" + (queue.map { " of \($0)" } ?? "")
            + (name.map { " of queues with \($0) in the name" } ?? "")
            + (kind.map { " with \($0) in the kind" } ?? "")
            + (cause.map { " with cause \($0.rawValue)" } ?? "")
    }
}
#endif
