package import Logging
internal import SluiceSQLite
internal import Synchronization

/// Whether anybody observes the store's events: without, none are collected, and a commit costs what it did.
package final class Interest: Sendable {
    private let count = Atomic(0)
    /// Queues whose observers ask for the actions themselves, and how many of them each has.
    private let queues = Mutex<[QueueName: Int]>([:])
    private let queueCount = Atomic(0)
    /// Others have committed since those observers were told so last.
    private let haveOthersCommitted = Atomic(false)

    /// The least level of the events that the log asks for, observers or not; `nil`: it asks for none.
    let logged: Logger.Level?

    /// - Parameter level: That of the logger.
    package init(loggingFrom level: Logger.Level = .critical) {
        logged = level <= .warning ? level : nil
    }

    package convenience init(_ logger: Logger) { self.init(loggingFrom: logger.logLevel) }

    /// An observer has come; transactions that begin from now on collect events.
    package func begin() { count.add(1, ordering: .acquiringAndReleasing) }

    /// An observer has gone.
    package func end() { count.subtract(1, ordering: .acquiringAndReleasing) }

    package var isAny: Bool { count.load(ordering: .acquiring) > 0 }

    /// An observer has come who asks for the actions of a queue; to be called before ``begin()``.
    func begin(contentsOf queue: QueueName) {
        queues.withLock { queues in
            queues[queue, default: 0] += 1
            queueCount.store(queues.count, ordering: .releasing)
            // What stands there by now has not come later.
            if queues.count == 1 { _ = takeCommitOfOthers() }
        }
    }

    func noteCommitOfOthers() { haveOthersCommitted.store(true, ordering: .releasing) }

    /// Whether others have committed since the last call.
    func takeCommitOfOthers() -> Bool {
        haveOthersCommitted.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// That observer has gone.
    func end(contentsOf queue: QueueName) {
        queues.withLock { queues in
            queues[queue] = queues[queue].flatMap { $0 > 1 ? $0 - 1 : nil }
            queueCount.store(queues.count, ordering: .releasing)
        }
    }

    /// What a transaction that begins now is to collect of the actions; `nil` where nobody asks for any.
    var contents: ObservedContents? {
        guard queueCount.load(ordering: .acquiring) > 0 else { return nil }
        return ObservedContents(queues: queues.withLock { Set($0.keys) })
    }
}

/// The actions that events are about, for observers who ask for them.
struct ObservedContents: Sendable {
    /// The queues whose observers do.
    let queues: Set<QueueName>
    /// By the index of the event; an action that was gone before it could be read has none.
    var actions: [Int: StoredAction] = [:]
}

/// The events of the open transaction, collected while somebody observes.
final class EventJournal {
    private let connection: Connection
    let interest: Interest
    /// The wall clock when the transaction began.
    private var now = Timestamp(microseconds: 0)
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

// MARK: - Telling

extension EventJournal {
    /// Notes what happens to an action that the file still has, unless nobody observes.
    ///
    /// Called before the action goes.
    func record(
        _ kind: QueueEvent.Kind,
        _ action: ActionID,
        in queue: QueueID,
        _ fill: (inout QueueEvent) -> Void = { _ in }
    ) throws(SQLiteError) {
        guard collects(kind) else { return }
        var event = QueueEvent(kind, at: now.date, queue: try queueName(queue))
        event.action = action
        event.actionKind = try connection.cached("SELECT kind FROM sluice_action_rows WHERE id = ?1")
            .bind(1, action.rawValue).first { $0.text(0) }
        fill(&event)
        var contents: StoredAction?
        if asksForAction(of: event) { contents = try StoredAction.read(action, on: connection) }
        add(event, about: contents)
        if kind.takesAway && isOn { leaves(queue) }
    }

    /// Notes what happens to an action whose queue and kind the caller has at hand.
    ///
    /// - Parameter contents: The action itself, asked for if an observer does.
    func record(
        _ kind: QueueEvent.Kind,
        _ action: ActionID,
        of actionKind: String,
        in queue: QueueName,
        contents: @autoclosure () -> StoredAction? = nil,
        _ fill: (inout QueueEvent) -> Void = { _ in }
    ) {
        guard collects(kind) else { return }
        var event = QueueEvent(kind, at: now.date, queue: queue)
        event.action = action
        event.actionKind = actionKind
        fill(&event)
        add(event, about: asksForAction(of: event) ? contents() : nil)
    }

    /// Notes what happens to a queue.
    func record(_ kind: QueueEvent.Kind, queue: QueueID) throws(SQLiteError) {
        guard isOn else { return }
        add(QueueEvent(kind, at: now.date, queue: try queueName(queue)))
    }

    /// Notes what happens to gates and holds.
    func record(_ kind: QueueEvent.Kind, _ fill: (inout QueueEvent) -> Void) {
        guard isOn else { return }
        var event = QueueEvent(kind, at: now.date)
        fill(&event)
        add(event)
    }

    /// A claim has found nothing in a queue.
    func recordEmpty(_ queue: QueueID) throws(SQLiteError) {
        guard isOn else { return }
        try record(hasLeft(queue) ? .idle : .emptyWake, queue: queue)
    }

    /// A claim has been made.
    func recordStart(_ head: Head, attempt: Int, in queue: QueueID) {
        guard collects(.started) else { return }
        if isOn { _ = hasLeft(queue) }
        record(.started, head.action, of: head.kind, in: head.queue) { $0.attempt = attempt }
    }

    /// An attempt is about to be settled with success.
    func recordSuccess(_ receipt: Receipt) throws(SQLiteError) {
        // One that was removed while it ran has been told as removed.
        guard collects(.editLost) else { return }
        let known = try connection.cached(
            """
            SELECT coalesce(s.attempts, 0), s.edited_claim
            FROM sluice_action_rows AS a LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
            WHERE a.id = ?1
            """
        )
        .bind(1, receipt.action.rawValue).first { (earlier: $0.int(0), editedClaim: $0.optionalInt64(1)) }
        guard let known else { return }
        if known.editedClaim == receipt.claim {
            try record(.editLost, receipt.action, in: receipt.queue) { $0.attempt = known.earlier + 1 }
        }
        try record(.succeeded, receipt.action, in: receipt.queue) { $0.attempt = known.earlier + 1 }
    }

    func queueName(_ queue: QueueID) throws(SQLiteError) -> QueueName? {
        try connection.cached("SELECT name FROM sluice_queue_rows WHERE queue_id = ?1")
            .bind(1, queue.rawValue).first { QueueName($0.text(0)) }
    }
}

extension QueueEvent.Kind {
    /// Whether the action is no longer in its queue.
    fileprivate var takesAway: Bool {
        self == .succeeded || self == .removed || self == .taken || self == .moved || self == .deadLettered
    }
}

// MARK: - What others have changed

extension EventJournal {
    /// Notes what another connection has changed.
    func record(_ change: ForeignChange) throws(SQLiteError) {
        // What is cancelled while it runs is told as removed when its handler has returned.
        guard isOn, !change.endsRun || change.isDeletion else { return }
        let kind: QueueEvent.Kind =
            switch change.change {
            case "insert": .enqueued
            case "update": .edited
            case "delete": .removed
            default: .changed
            }
        guard let action = change.action else { return try record(kind, queue: change.queue) }
        try record(kind, action, in: change.queue)
    }

    /// Notes which gates and holds others have changed since the last commit.
    func recordControls(_ controls: Controls) {
        guard isOn, let told = toldControls else { return }
        for (name, gate) in controls.gates where gate.isOpen && told.gates[name]?.isOpen != true {
            record(.gateOpened) { $0.gate = name }
        }
        for (name, gate) in told.gates where gate.isOpen && !controls.isOpen(name) {
            record(.gateClosed) { $0.gate = name }
        }
        for hold in controls.holds where !told.holds.contains(where: { $0.id == hold.id }) {
            record(.held, hold)
        }
        for hold in told.holds where !controls.holds.contains(where: { $0.id == hold.id }) {
            record(.resumed, hold)
        }
        toldControls = controls
    }

    func record(_ kind: QueueEvent.Kind, _ hold: Controls.StandingHold) {
        record(kind) {
            $0.pattern = hold.scope
            $0.holder = hold.holder
            $0.until = hold.until?.date
        }
    }

    /// Notes gates and holds as this transaction leaves them, for what others will make of them.
    func keepControls(_ controls: () throws(SQLiteError) -> Controls) throws(SQLiteError) {
        if isOn && toldControls == nil { toldControls = try controls() }
    }
}
