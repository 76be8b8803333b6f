#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Something that has happened to an action, a queue, a gate or a hold, and stands in the file.
///
/// Events are told after their commit and in the order of commits; within a commit, in the order in which
/// they happened. What is rolled back is never told. No event carries a payload (G13).
///
/// What others change is told while this broker runs, as far as the file's log of changes says. Of what SQL
/// does, an inserted action is told as ``Kind/enqueued``, a deleted one as ``Kind/removed``, an updated one
/// as ``Kind/edited``, anything else as ``Kind/changed``. Brokers of other processes log only what this one
/// must know to run the queues: their enqueues and cancellations are ``Kind/changed`` of the queue, if it has
/// nothing running, and of their attempts nothing is told. A ``QueueNotice`` tells more of one queue, as
/// what is there is compared for it.
public struct QueueEvent: Sendable, Hashable {
    /// What has happened.
    public var kind: Kind
    /// When, by the broker's wall clock.
    public var time: Date
    /// The queue; `nil` for gates and holds.
    public var queue: QueueName?
    /// The action, if it is about one.
    public var action: ActionID?
    /// The kind of that action; `nil` also where it was gone before this broker looked.
    public var actionKind: String?
    /// The number of the attempt, counted from 1.
    public var attempt: Int?
    /// The error of the attempt, or the one that decided.
    public var error: String?
    /// Why the action cannot go on; `nil` also for those that stood behind one whose failure set the whole
    /// queue aside, and those that were skipped.
    public var cause: FailureCause?
    /// Why an action was set aside, as its dead letter says: also for those that stood behind, and those that
    /// were skipped.
    public var deadLetterCause: DeadLetterCause?
    /// What follows from that.
    public var policy: FailurePolicy?
    /// How long it waits before it is tried again.
    public var delay: Duration?
    /// When a scheduled action is due, or a hold ends by itself.
    public var until: Date?
    /// The queue that the action has moved to.
    public var target: QueueName?
    /// The gate that was opened or closed, or that the action waits for.
    public var gate: GateName?
    /// The queues that a hold covers.
    public var pattern: QueuePattern?
    /// Who holds, or held.
    public var holder: String?
    /// Why a queue does not move: with ``Kind/stalled`` the first of ``QueueStatus/because``, with
    /// ``Kind/blocked`` what the head cannot run for.
    public var because: Because?

    /// Makes an event that says no more than this.
    public init(_ kind: Kind, at time: Date, queue: QueueName? = nil) {
        self.kind = kind
        self.time = time
        self.queue = queue
    }
}

extension QueueEvent: CustomStringConvertible {
    /// What has happened, to whom, what follows, and why:
    /// `retrying: action 7 of conversation/42, attempt 2, again after 30.0 seconds: it is busy`.
    public var description: String {
        let action = action.map { "action \($0)" }
        let place = queue.map { $0.description } ?? pattern?.rawValue ?? gate?.rawValue
        var text = [action, place].compactMap { $0 }.joined(separator: " of ")
        if let target { text += " to \(target)" }
        if let holder { text += " by \(holder)" }
        if let attempt { text += ", attempt \(attempt)" }
        if let delay { text += ", again after \(delay)" }
        if let gate, queue != nil, because == nil { text += ", waits for gate \(gate)" }
        if let until { text += ", \(queue == nil ? "until" : "scheduled for") \(Timestamp(until).iso8601)" }
        let decision = [deadLetterCause?.rawValue ?? cause?.rawValue, policy?.rawValue]
            .compactMap { $0 }
        if !decision.isEmpty { text += " (\(decision.joined(separator: ", ")))" }
        if let error { text += ": \(error)" } else if let because { text += ": \(because)" }
        return text.isEmpty ? kind.description : "\(kind): \(text)"
    }
}

extension QueueEvent {
    /// What has happened; more may come with later versions.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case enqueued, started, succeeded, retrying, failed, released, removed, taken, moved, edited
            case expired
            case deadLettered, requeued, blocked, changed, held, resumed, gateOpened, gateClosed
            case stalled, idle, emptyWake, crashed, editLost
        }

        private let value: Value

        private init(_ value: Value) { self.value = value }

        /// The name of the static member.
        public var description: String { value.rawValue }

        /// An action has been stored.
        ///
        /// ``QueueEvent/until`` is set when it is scheduled for later.
        public static let enqueued = Kind(.enqueued)
        /// An action has been claimed: its handler starts.
        public static let started = Kind(.started)
        /// An attempt has ended with success, and the action is gone.
        public static let succeeded = Kind(.succeeded)
        /// An attempt has ended, and the action is tried again after a delay or when a gate opens.
        public static let retrying = Kind(.retrying)
        /// An action cannot go on, and ``QueueEvent/policy`` says what follows: ``FailurePolicy/block`` parks
        /// its queue; with the others ``deadLettered`` follows.
        public static let failed = Kind(.failed)
        /// An attempt was given back, not spent: by its handler, or by a broker that stops.
        public static let released = Kind(.released)
        /// An action has been cancelled or deleted.
        public static let removed = Kind(.removed)
        /// An action that waited has been taken out by ``QueueHandle/removeNext()`` or
        /// ``QueueHandle/clear()``.
        public static let taken = Kind(.taken)
        /// An action has gone to ``QueueEvent/target``.
        public static let moved = Kind(.moved)
        /// An action has been changed in place.
        public static let edited = Kind(.edited)
        /// An action's time was over before it could start.
        ///
        /// It takes the place of ``failed`` for that cause.
        public static let expired = Kind(.expired)
        /// An action has been set aside.
        public static let deadLettered = Kind(.deadLettered)
        /// A dead letter, or an action that was taken out, is back in its queue.
        public static let requeued = Kind(.requeued)
        /// The head cannot run for now: there is no route, its kind is unknown, or a gate of its route is
        /// closed.
        public static let blocked = Kind(.blocked)
        /// Something about a queue has been changed that no other kind names, such as the end of its retry
        /// waits.
        public static let changed = Kind(.changed)
        /// A hold has begun.
        public static let held = Kind(.held)
        /// A hold has ended.
        public static let resumed = Kind(.resumed)
        /// A gate that was closed is open.
        public static let gateOpened = Kind(.gateOpened)
        /// A gate that was open is closed.
        public static let gateClosed = Kind(.gateClosed)
        /// A queue with work has not moved for longer than the threshold.
        public static let stalled = Kind(.stalled)
        /// A queue has become empty.
        public static let idle = Kind(.idle)
        /// An attempt succeeds that has not seen an edit of its action, made while it ran: the edit goes
        /// with the action.
        public static let editLost = Kind(.editLost)
        /// An action ran alone when its process died: that counts as an attempt (G7).
        public static let crashed = Kind(.crashed)
        /// A running broker was woken for a queue in which nothing waits.
        public static let emptyWake = Kind(.emptyWake)
    }
}
