#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A reason why a queue does not move, or the start of its head's run.
///
/// The cases are in the order of ``QueueStatus/because``. The view `sluice_queues` shows the first that the
/// file knows, with the text of ``description``.
///
/// Later versions may add cases: a `switch` of an application needs a `default`.
#if hasAttribute(nonexhaustive)
@nonexhaustive
#endif
public enum WaitReason: Sendable, Hashable, CustomStringConvertible {
    /// Its head runs.
    case running(since: Date, attempt: Int)
    /// A failure policy has parked the queue; new arrivals do not unpark it.
    ///
    /// `action` has parked it. It need not be the head: an action that sorts before it may have arrived
    /// since. While a failure makes the whole queue dead letters, `cause` is `nil`.
    case parked(by: ActionID, cause: FailureCause?, error: String, since: Date)
    /// The head's payload does not decode as the type of its route.
    case undecodable(error: String, since: Date)
    /// The queue has routes, but none for its head's kind.
    case unknownKind
    /// No route matches the queue's name.
    case noRoute
    /// A hold covers the queue, until this time if it ends by itself.
    case held(by: String, reason: String, until: Date?)
    /// The head waits for a gate: its own, its route's, or the gate named by its last attempt.
    ///
    /// At `until` the gate opens by itself, if it does.
    case gate(GateName, until: Date? = nil)
    /// The last attempt failed, and the next is due at this time.
    case retry(until: Date)
    /// All actions are scheduled for later, the first for this time; or its batch starts then at the latest.
    case scheduled(for: Date)
    /// The head could run, but lacks a permit.
    case permit(PermitScope)
    /// The head could run, or its outcome be written, but another connection holds the file's write lock.
    ///
    /// `by` are the processes that hold it, if the system reports them. SQL cannot show this.
    case locked(since: Date, by: [Int])
    /// The file refuses a write, such as on a full disk; it is tried each second. SQL cannot show this.
    case refused(error: String, since: Date)
    /// Handlers have blocked their executor since this time, which SQL cannot show.
    case handlersBlocked(since: Date)
    /// The head could run, and this broker is about to start it.
    case ready
    /// Another process runs the head, may run it, or ends the commands of a killed tool (G3).
    ///
    /// On a file it is `process` and its number; on a server it is the worker's name.
    case owned(by: String)
    /// No broker runs the queues of the file.
    case stopped

    /// The text of the column `because` of `sluice_queues`.
    public var description: String {
        switch self {
        case .running(let since, let attempt): "running since \(Timestamp(since).iso8601), attempt \(attempt)"
        case .parked(let action, let cause, let error, _):
            "parked by action \(action) after failure (\(cause?.rawValue ?? "failing")): \(error)"
        case .undecodable, .unknownKind, .noRoute, .ready: state.rawValue
        case .held(let holder, let reason, _): "held by \(holder)" + (reason.isEmpty ? "" : ": \(reason)")
        case .gate(let gate, let until):
            "waiting for gate \(gate)" + (until.map { " until \(Timestamp($0).iso8601)" } ?? "")
        case .retry(let until): "waiting for retry until \(Timestamp(until).iso8601)"
        case .scheduled(let date): "scheduled for \(Timestamp(date).iso8601)"
        case .permit(.crashTrial(let tried?)): Self.words(tried)
        case .permit(.rate(let name, let until)):
            "waiting for the rate limit \(name) until \(Timestamp(until).iso8601)"
        case .permit: "waiting for a permit"
        case .locked(let since, let processes):
            "waiting for the write lock of \(Self.names(of: processes)) since \(Timestamp(since).iso8601)"
        case .refused(let error, let since): "refused since \(Timestamp(since).iso8601): \(error)"
        case .handlersBlocked(let since): "handlers block their threads since \(Timestamp(since).iso8601)"
        case .owned(let owner): "owned by \(owner)"
        case .stopped: "broker stopped"
        }
    }

    init?(unroutable reason: BlockReason) {
        switch reason {
        case .unknownKind: self = .unknownKind
        case .noRoute: self = .noRoute
        default: return nil
        }
    }

    private static func words(_ tried: TriedAction) -> String {
        let name = "action \(tried.action) of \(tried.queue)"
        return tried.otherCount == 0
            ? "waits while \(name) runs alone after a crash"
            : "waits while \(name) and \(tried.otherCount) more are tried after a crash"
    }

    private static func names(of processes: [Int]) -> String {
        let others = processes.filter { $0 != Int(getpid()) }
        let numbers = others.map(String.init).joined(separator: ", ")
        var names: [String] = []
        if !others.isEmpty { names.append("\(others.count == 1 ? "process" : "processes") \(numbers)") }
        if others.count < processes.count { names.append("this process") }
        return names.isEmpty ? "another connection" : names.joined(separator: " and ")
    }

    /// The word of the column `state` of `sluice_queues`.
    public var state: QueueStatus.State {
        switch self {
        case .running: .running
        case .parked: .parked
        case .undecodable: .undecodable
        case .unknownKind: .unknownKind
        case .noRoute: .noRoute
        case .held: .held
        case .gate: .gate
        case .retry: .retry
        case .scheduled: .scheduled
        case .permit, .locked, .refused, .handlersBlocked, .ready, .owned: .ready
        case .stopped: .stopped
        }
    }

    var isObstruction: Bool {
        switch self {
        case .locked, .refused: true
        default: false
        }
    }

    /// Whether a queue that stays like this has stalled; `ready` should never last.
    var isStall: Bool {
        switch self {
        case .running, .scheduled, .owned, .stopped: false
        case .ready, .parked, .undecodable, .unknownKind, .noRoute: true
        case .held, .gate, .retry, .permit, .locked, .refused, .handlersBlocked: true
        }
    }
}
