internal import SluiceSQLite

/// The events of the open transaction, collected while somebody observes.
final class EventJournal {
    let connection: Connection
    let interest: Interest
    /// The wall clock when the transaction began.
    var now = Timestamp(microseconds: 0)
    /// Decided when the transaction begins, and left so until it ends.
    private(set) var isOn = false
    private(set) var events: [QueueEvent] = []
    /// What the events are about; `nil` while nobody asks.
    private(set) var contents: ObservedContents?
    /// Queues that an action has left, and that have not been found empty or been claimed from since.
    ///
    /// Tells a queue that has become empty from a wake that found nothing. Bounded: it is forgotten when it
    /// has ``leftLimit`` queues, and then some of them tell ``QueueEvent/Kind/emptyWake`` instead.
    private var left: Set<QueueID> = []
    /// What this transaction took out of `left`, to be put back if it is rolled back.
    private var taken: [QueueID] = []
    /// Gates and holds as they were told last, to be compared with what others make of them.
    var toldControls: Controls?
    /// The same as of the last commit.
    private var committedControls: Controls?

    private static let leftLimit = 10_000

    init(_ connection: Connection, _ interest: Interest) {
        (self.connection, self.interest) = (connection, interest)
    }

    /// Goes on where another has stopped, whose connection was closed.
    init(continuing other: EventJournal, on connection: Connection) {
        (self.connection, interest) = (connection, other.interest)
        (isOn, left, toldControls) = (other.isOn, other.left, other.toldControls)
        committedControls = other.committedControls
    }

    func begin(now: Timestamp) {
        self.now = now
        let wasOn = isOn
        isOn = interest.isAny
        contents = isOn ? interest.contents : nil
        guard wasOn && !isOn else { return }
        left.removeAll()
        toldControls = nil
        committedControls = nil
    }

    func add(_ event: QueueEvent, about action: StoredAction? = nil) {
        if let action { contents?.actions[events.count] = action }
        events.append(event)
    }

    /// Whether an event is collected, for observers or for the log.
    func collects(_ kind: QueueEvent.Kind) -> Bool {
        isOn || (interest.logged.map { $0 <= kind.logLevel } ?? false)
    }

    /// Whether somebody asks for the action that an event is about.
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
        committedControls = toldControls
        return events
    }

    func rollBack() {
        if !events.isEmpty { events.removeAll() }
        guard isOn else { return }
        contents?.actions = [:]
        left.formUnion(taken)
        taken.removeAll()
        // Also after a BEGIN that met a lock: what others change behind it is still to be told.
        toldControls = committedControls
    }

    func leaves(_ queue: QueueID) {
        if left.count >= Self.leftLimit { left.removeAll() }
        left.insert(queue)
    }

    /// Whether an action has left a queue since this was asked last.
    func hasLeft(_ queue: QueueID) -> Bool {
        guard left.remove(queue) != nil else { return false }
        taken.append(queue)
        return true
    }
}
