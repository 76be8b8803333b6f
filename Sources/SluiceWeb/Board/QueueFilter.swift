#if Web
internal import Sluice

/// Which queues a list shows.
struct QueueFilter: Sendable {
    /// A prefix that ends in `*`, or a part of the name in upper or lower case.
    var name: String? {
        didSet { namePart = name.map(TextPart.init) }
    }
    var states: Set<QueueStatus.State> = []
    /// A kind of reason, or a part of a reason or of the last error.
    var because: String?
    /// A part of the kind of the head, in upper or lower case.
    var kind: String? {
        didSet { kindPart = kind.map(TextPart.init) }
    }
    /// Only queues that need a person.
    var needsPerson = false
    private var namePart: TextPart?
    private var kindPart: TextPart?

    init() {}

    init(_ form: Form) throws(PageError) {
        name = form["name"]
        because = form["because"]
        kind = form["kind"]
        // Observers of properties are not called in an initializer.
        (namePart, kindPart) = (name.map(TextPart.init), kind.map(TextPart.init))
        needsPerson = form["needs"] == "person"
        for word in form.all("state") {
            guard let state = QueueStatus.State(rawValue: word) else {
                throw PageError(.invalid, "there is no state '\(word)' of queues")
            }
            states.insert(state)
        }
    }

    var form: Form {
        var form = Form()
        if let name { form.add("name", name) }
        for state in states.map(\.rawValue).sorted() { form.add("state", state) }
        if let because { form.add("because", because) }
        if let kind { form.add("kind", kind) }
        if needsPerson { form.add("needs", "person") }
        return form
    }

    /// What it selects, for a sentence.
    var description: String {
        var parts: [String] = []
        if let name { parts.append(name.hasSuffix("*") ? "named \(name)" : "with \(name) in the name") }
        if !states.isEmpty {
            parts.append("in state \(states.map(\.rawValue).sorted().joined(separator: " or "))")
        }
        if let because { parts.append("because of \(because)") }
        if let kind { parts.append("with \(kind) in the kind of the head") }
        if needsPerson { parts.append("that need a person") }
        return parts.isEmpty ? "all queues with work" : "queues " + parts.joined(separator: ", ")
    }

    /// Returns the queues that match, each with what a skip would take, in order of their names.
    ///
    /// They are read: of many queues, the board may be a minute behind.
    func queues(_ broker: Broker) async throws -> [Subject] {
        let pattern = name.flatMap { $0.hasSuffix("/*") ? QueuePattern($0) : nil } ?? .all
        return try await broker.statuses(matching: pattern, in: nil, limit: .max)
            .filter { matches(Board.Lane($0)) }
            .map { .queue($0.queue, head: $0.actionToSkip) }
    }

    func matches(_ lane: Board.Lane) -> Bool {
        if !states.isEmpty, !states.contains(lane.state) { return false }
        if needsPerson, lane.trouble != .needsPerson { return false }
        if let kindPart, !kindPart.occurs(in: lane.status.headKind ?? "") { return false }
        if !matchesName(lane.status.queue.rawValue) { return false }
        return because.map(lane.status.isBecause(of:)) ?? true
    }

    private func matchesName(_ queue: String) -> Bool {
        guard let name, let namePart else { return true }
        return name.hasSuffix("*")
            ? queue.utf8.starts(with: name.utf8.dropLast()) : namePart.occurs(in: queue)
    }
}
#endif
