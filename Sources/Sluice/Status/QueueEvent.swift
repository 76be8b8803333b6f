#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A change of an action, a queue, a gate or a hold that has been committed.
///
/// Events are sent after their commit, in the order in which they happened, without payloads (G13). While
/// this broker runs, changes by SQL are reported: an `INSERT` as ``Kind/enqueued``, a `DELETE` as
/// ``Kind/removed``, an `UPDATE` of an action as ``Kind/edited``, the rest as ``Kind/changed``. Enqueues and
/// cancellations, not attempts, of other processes are ``Kind/changed`` of a queue of which nothing runs.
public struct QueueEvent: Sendable, Hashable, CustomStringConvertible {
    /// The kind of event.
    public var kind: Kind
    /// The time of the event, by the broker's wall clock.
    public var time: Date
    /// The queue; `nil` for gates and holds.
    public var queue: QueueName?
    /// The action, if the event is about one.
    public var action: ActionID?
    /// The kind of that action; `nil` also if the action was gone before this broker read it.
    public var actionKind: String?
    /// The number of the attempt, counted from 1.
    public var attempt: Int?
    /// The error of the attempt, or the one that caused a failure.
    public var error: String?
    /// Why the action cannot continue, or became a dead letter.
    public var cause: FailureCause?
    /// The failure policy that applies.
    public var policy: FailurePolicy?
    /// The delay before the next attempt.
    public var delay: Duration?
    /// When a scheduled action is due, a hold ends by itself, or a closed gate opens by itself.
    public var until: Date?
    /// The queue that the action was moved to.
    public var target: QueueName?
    /// The gate that was opened or closed, or that the action waits for.
    public var gate: GateName?
    /// The queues that a hold covers.
    public var pattern: QueuePattern?
    /// The holder of the hold.
    public var holder: String?
    /// Why a queue does not move: the first of ``QueueStatus/because``, or why the head is ``Kind/blocked``.
    public var because: WaitReason?

    /// Makes an event with these values only.
    public init(_ kind: Kind, at time: Date, queue: QueueName? = nil) {
        self.kind = kind
        self.time = time
        self.queue = queue
    }

    /// The event in words: `retrying: action 7 of conversation/42, attempt 2, again after 30.0 seconds`.
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
        let decision = [cause?.rawValue, policy?.rawValue].compactMap { $0 }
        if !decision.isEmpty { text += " (\(decision.joined(separator: ", ")))" }
        if let error { text += ": \(error)" } else if let because { text += ": \(because)" }
        return text.isEmpty ? kind.description : "\(kind): \(text)"
    }

    /// A kind of event; later versions may add more.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case enqueued, started, succeeded, retrying, failed, released, removed, taken, moved, edited
            case expired, deadLettered, requeued, blocked, changed, held, resumed, gateOpened, gateClosed
            case stalled, idle, emptyWake, crashed, editLost
        }

        private let value: Value
        private init(_ value: Value) { self.value = value }
        /// The name of the static member.
        public var description: String { value.rawValue }
        /// An action has been stored; ``QueueEvent/until`` is set if it is scheduled for later.
        public static let enqueued = Kind(.enqueued)
        /// An action has been claimed: its handler starts.
        public static let started = Kind(.started)
        /// An attempt has succeeded, and the action is removed.
        public static let succeeded = Kind(.succeeded)
        /// An attempt has failed, and the action is tried again after a delay or when a gate opens.
        public static let retrying = Kind(.retrying)
        /// An action cannot continue: its ``QueueEvent/policy`` parks its queue, or ``deadLettered`` follows.
        public static let failed = Kind(.failed)
        /// An attempt was given back without being spent, by its handler or by a broker that stops.
        public static let released = Kind(.released)
        /// An action has been cancelled or deleted.
        public static let removed = Kind(.removed)
        /// A waiting action has been taken out by ``QueueHandle/removeNext()`` or ``QueueHandle/clear()``.
        public static let taken = Kind(.taken)
        /// An action has been moved to ``QueueEvent/target``.
        public static let moved = Kind(.moved)
        /// An action has been edited.
        public static let edited = Kind(.edited)
        /// An action expired before it could start; it replaces ``failed`` for that cause.
        public static let expired = Kind(.expired)
        /// An action has become a dead letter.
        public static let deadLettered = Kind(.deadLettered)
        /// A dead letter, or an action that was taken out, is back in its queue.
        public static let requeued = Kind(.requeued)
        /// The head cannot run: there is no route, its kind is unknown, or a gate of its route is closed.
        public static let blocked = Kind(.blocked)
        /// An action or its queue has changed in a way that no other kind names, such as the end of a wait.
        public static let changed = Kind(.changed)
        /// A hold has begun.
        public static let held = Kind(.held)
        /// A hold has ended.
        public static let resumed = Kind(.resumed)
        /// A closed gate has been opened.
        public static let gateOpened = Kind(.gateOpened)
        /// A gate has been closed, or a closed one has another end; ``QueueEvent/until`` is when it opens.
        public static let gateClosed = Kind(.gateClosed)
        /// A queue with work has not moved for longer than the threshold.
        public static let stalled = Kind(.stalled)
        /// A queue has become empty.
        public static let idle = Kind(.idle)
        /// An attempt has succeeded without an edit that was made while it ran; the edit is lost.
        public static let editLost = Kind(.editLost)
        /// An action ran alone when its process died, which counts as an attempt (G7).
        public static let crashed = Kind(.crashed)
        /// A running broker was woken for a queue in which nothing waits.
        public static let emptyWake = Kind(.emptyWake)
    }
}
