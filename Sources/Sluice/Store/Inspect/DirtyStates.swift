internal import SluiceSQLite

/// The actions and queues that may have changed since an observation last read them.
struct DirtyStates: Sendable {
    /// The most changes that wait for a slow consumer, of about a megabyte.
    static let limit = 10_000

    private(set) var actions: Set<ActionID> = []
    /// How actions have ended, as far as events say so.
    private(set) var ends: [ActionID: ActionEnd] = [:]
    private(set) var queues: Set<QueueName> = []
    private(set) var queueIDs: Set<QueueID> = []
    /// Whether everything that is observed may have changed.
    private(set) var isAll = false
    /// Whether it may have, by commits of others: that can wait.
    private(set) var isAllLater = false
    /// Whether the consumer gets a snapshot: at the start, and after more changes than are kept.
    private(set) var startsOver = false

    /// Whether there is nothing to read now.
    var isEmpty: Bool { !isAll && actions.isEmpty && queues.isEmpty && queueIDs.isEmpty }

    /// All states, for a consumer that knows none.
    static var snapshot: DirtyStates {
        var dirty = DirtyStates()
        (dirty.isAll, dirty.startsOver) = (true, true)
        return dirty
    }

    mutating func addAll() { isAll = true }
    mutating func addAllLater() { isAllLater = true }

    /// Takes the states to read now, and keeps the rest.
    mutating func take(withLater isWithLater: Bool) -> DirtyStates {
        if isAllLater && isWithLater { isAll = true }
        if isAll { isAllLater = false }
        defer {
            let isAllLater = isAllLater
            self = DirtyStates()
            self.isAllLater = isAllLater
        }
        return self
    }

    mutating func add(_ action: ActionID, _ end: ActionEnd? = nil) {
        if startsOver { return }
        actions.insert(action)
        if let end { ends[action] = end }
        checkLimit()
    }

    mutating func add(_ queue: QueueName) {
        if startsOver { return }
        queues.insert(queue)
        checkLimit()
    }

    mutating func add(_ queue: QueueID) {
        if startsOver { return }
        queueIDs.insert(queue)
        checkLimit()
    }

    /// Adds what an earlier set has; how actions have ended is known better by this one.
    mutating func formUnion(_ earlier: DirtyStates) {
        isAll = isAll || earlier.isAll
        isAllLater = isAllLater || earlier.isAllLater
        startsOver = startsOver || earlier.startsOver
        actions.formUnion(earlier.actions)
        ends.merge(earlier.ends) { later, _ in later }
        queues.formUnion(earlier.queues)
        queueIDs.formUnion(earlier.queueIDs)
        checkLimit()
    }

    private mutating func checkLimit() {
        if actions.count + queues.count + queueIDs.count > Self.limit { self = .snapshot }
    }
}

extension DirtyStates {
    /// Returns the bounds of the names of the queues that match, and their numbers, as a JSON array, if there
    /// are several.
    func queueNumbers(
        in form: QueuePattern.Form,
        _ connection: Connection
    ) throws(SQLiteError) -> (numbers: String?, first: String, last: String)? {
        var found: [(id: Int64, name: String)] = []
        for name in queues {
            found += try connection.cached("SELECT queue_id, name FROM sluice_queue_rows WHERE name = ?1")
                .bind(1, name.rawValue).all { (id: $0.int64(0), name: $0.text(1)) }
        }
        for id in queueIDs {
            found += try connection.cached("SELECT queue_id, name FROM sluice_queue_rows WHERE queue_id = ?1")
                .bind(1, id.rawValue).all { (id: $0.int64(0), name: $0.text(1)) }
        }
        found.removeAll { !form.matches(QueueName($0.name)) }
        // As SQLite orders them.
        let names = found.map(\.name)
        guard let first = names.min(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }),
            let last = names.max(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        else { return nil }
        let numbers = first == last ? nil : "\(Set(found.map(\.id)).sorted())"
        return (numbers, first, last + "\u{0}")
    }
}
