internal import SluiceSQLite

/// Collects the events of the open transaction while the store is observed.
final class EventJournal {
    let connection: Connection
    let interest: Interest
    var now = Timestamp(microseconds: 0)
    /// Whether the store is observed; decided when the transaction begins and constant until it ends.
    private(set) var isOn = false
    private(set) var events: [QueueEvent] = []
    /// The actions that events are about; `nil` if no observer asks for them.
    private(set) var contents: ObservedContents?
    /// Queues that an action has left, until they are claimed from or found empty: then they are idle.
    private var left: Set<QueueID> = []
    /// Queues that this transaction removed from `left`, put back in a roll-back.
    private var taken: [QueueID] = []
    /// Gates and holds as last reported, to compare with the changes of other connections.
    var reportedControls: Controls?
    private var committedControls: Controls?
    /// At this number `left` is emptied; some of those queues then report an empty wake instead.
    private static let leftLimit = 10_000

    init(_ connection: Connection, _ interest: Interest) {
        (self.connection, self.interest) = (connection, interest)
    }

    init(continuing other: EventJournal, on connection: Connection) {
        (self.connection, interest) = (connection, other.interest)
        (isOn, left, reportedControls) = (other.isOn, other.left, other.reportedControls)
        committedControls = other.committedControls
    }

    func begin(now: Timestamp) {
        self.now = now
        let wasOn = isOn
        isOn = interest.isAny
        contents = isOn ? interest.contents : nil
        guard wasOn && !isOn else { return }
        left.removeAll()
        (reportedControls, committedControls) = (nil, nil)
    }

    func add(_ event: QueueEvent, about action: StoredAction? = nil) {
        if let action { contents?.actions[events.count] = action }
        events.append(event)
    }

    func collects(_ kind: QueueEvent.Kind) -> Bool {
        isOn || (interest.logged.map { $0 <= kind.logLevel } ?? false)
    }

    func asksForAction(of event: QueueEvent) -> Bool {
        guard let queues = contents?.queues else { return false }
        return [event.queue, event.target].contains { $0.map { queues.contains($0) } ?? false }
    }

    func takeContents() -> ObservedContents? {
        defer { contents?.actions = [:] }
        return contents
    }

    func takeEvents() -> [QueueEvent] {
        defer { if !events.isEmpty { events = [] } }
        guard isOn else { return events }
        taken.removeAll()
        committedControls = reportedControls
        return events
    }

    func rollBack() {
        if !events.isEmpty { events.removeAll() }
        guard isOn else { return }
        contents?.actions = [:]
        left.formUnion(taken)
        taken.removeAll()
        // Also if a BEGIN failed on a lock: later changes of other connections must still be reported.
        reportedControls = committedControls
    }

    func leaves(_ queue: QueueID) {
        if left.count >= Self.leftLimit { left.removeAll() }
        left.insert(queue)
    }

    /// Returns whether an action has left a queue since the last call.
    func hasLeft(_ queue: QueueID) -> Bool {
        guard left.remove(queue) != nil else { return false }
        taken.append(queue)
        return true
    }
}
