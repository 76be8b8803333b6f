#if Web
internal import Sluice

/// Which queues a list shows.
struct QueueFilter: Sendable {
    /// A prefix that ends in `*`, or a part of the name.
    var name: String?
    var states: Set<QueueStatus.State> = []
    /// A kind of reason, or a part of a reason or of the last error.
    var because: String?
    /// The kind of the head.
    var kind: String?
    /// Only queues that need a person.
    var needsPerson = false

    init() {}

    init(_ form: Form) throws(PageError) {
        name = form["name"]
        because = form["because"]
        kind = form["kind"]
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
        if let kind { parts.append("with a head of kind \(kind)") }
        if needsPerson { parts.append("that need a person") }
        return parts.isEmpty ? "all queues with work" : "queues " + parts.joined(separator: ", ")
    }

    /// Returns the queues that match, each with what a skip would take, in order of their names.
    ///
    /// They are read: of many queues, the board may be a minute behind.
    func queues(_ broker: any ActionBroker) async throws -> [Subject] {
        let pattern = name.flatMap { $0.hasSuffix("/*") ? QueuePattern($0) : nil } ?? .all
        return try await broker.statuses(matching: pattern, in: nil, limit: .max)
            .filter { matches(Board.Lane($0)) }
            .map { .queue($0.queue, head: $0.actionToSkip) }
    }

    func matches(_ lane: Board.Lane) -> Bool {
        if !states.isEmpty, !states.contains(lane.state) { return false }
        if needsPerson, lane.trouble != .needsPerson { return false }
        if let kind, lane.status.headKind != kind { return false }
        if let name, !Self.matches(lane.status.queue.rawValue, name) { return false }
        return because.map(lane.status.isBecause(of:)) ?? true
    }

    private static func matches(_ name: String, _ part: String) -> Bool {
        guard !part.hasSuffix("*") else { return name.utf8.starts(with: part.utf8.dropLast()) }
        // By bytes, which takes a tenth of the time.
        let (bytes, wanted) = (name.utf8, Array(part.utf8))
        var start = bytes.startIndex
        while let first = bytes[start...].firstIndex(of: wanted[0]) {
            if bytes[first...].starts(with: wanted) { return true }
            start = bytes.index(after: first)
        }
        return false
    }
}
#endif
