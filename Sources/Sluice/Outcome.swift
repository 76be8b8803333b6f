/// What a handler says about its attempt.
///
/// Throwing an error instead is a ``retry`` with that error.
public struct Outcome: Sendable, Hashable {
    enum Storage: Sendable, Hashable {
        case success
        case successWriting(SettlingClosure)
        /// `nil`: as long as the route's retry policy says.
        case retry(after: Duration?, whenOpen: GateName?)
        case fail(reason: String)
        case halt(reason: String)
        case release(untilOpen: GateName?)
        case lack(of: String, after: Duration)
    }

    let storage: Storage

    /// The action is done: it is removed, and the next of its queue can start.
    public static let success = Outcome(storage: .success)

    /// The action is done, and what the application writes for that is written in the same transaction: all
    /// or nothing, exactly once (G5).
    ///
    /// ```swift
    /// return .success { transaction in
    ///     try markSent(message.id, on: transaction.connection)     // the application's SQL, on a sqlite3 *
    ///     try transaction.enqueue(RefreshPreview(of: message.id))  // a follow-up
    /// }
    /// ```
    ///
    /// The closure runs in the settling transaction, on a thread of the broker's writer, and no other write
    /// of the broker can begin meanwhile: it should be short, wait for nothing, and call nothing of the
    /// broker but what ``SettlingTransaction`` has; a blocking call would wait for itself. It may run more
    /// than once, as a commit can fail; what it has written before is rolled back then, so it should change
    /// nothing but the database.
    ///
    /// If it throws, nothing of it is written, and the attempt counts as one that threw that error: a retry
    /// by the route's policy. Constraints that are checked at the commit count too. It does not run when
    /// the action has been deleted, or settled by ``Attempt/succeed(in:)``, or when another process has
    /// taken the queue over: nothing is written then (G6). A success of an action that was cancelled while
    /// it ran stands, as it does without a closure.
    ///
    /// The commit is synced as an enqueue is. Outcomes with closures are equal when they are the same.
    public static func success(
        _ work: @escaping @Sendable (SettlingTransaction) throws -> Void
    ) -> Outcome {
        Outcome(storage: .successWriting(SettlingClosure(work)))
    }

    /// Try again, when and whether the route's retry policy says.
    public static let retry = Outcome(storage: .retry(after: nil, whenOpen: nil))

    /// Try again after a duration; nothing of the queue runs before.
    ///
    /// The route's limit of attempts still counts.
    ///
    /// - Parameter delay: Zero or less is at once; more than 100 years is 100 years.
    public static func retry(after delay: Duration) -> Outcome {
        Outcome(storage: .retry(after: delay, whenOpen: nil))
    }

    /// Try again as soon as a gate opens.
    ///
    /// A gate that has been opened since the attempt began counts: the action is tried again at once. If the
    /// gate was open all the time, the action waits as long as the route's retry policy says, and for the
    /// gate should it have closed by then. The route's limit of attempts counts.
    ///
    /// - Parameter gate: A gate with a name outside its limits counts as one that is closed.
    public static func retry(whenOpen gate: GateName) -> Outcome {
        Outcome(storage: .retry(after: nil, whenOpen: gate))
    }

    /// The action can never succeed: the route's failure policy for ``FailureCause/failed`` decides.
    ///
    /// - Parameter reason: Shown to operators, at most ``SluiceError/maximumTextByteCount`` bytes are kept.
    ///   It should not repeat the payload.
    public static func fail(_ reason: String) -> Outcome { Outcome(storage: .fail(reason: reason)) }

    /// Pause the queue, whatever the failure policy says: the action is its head, and is tried again when
    /// somebody asks for it by ``Broker/retryNow(_:)``, after a restart too.
    ///
    /// For what no passing of time mends. Removing the action lets the next one through.
    ///
    /// - Parameter reason: As of ``fail(_:)``.
    public static func halt(_ reason: String) -> Outcome { Outcome(storage: .halt(reason: reason)) }

    /// Give the action back without spending the attempt.
    ///
    /// So that it cannot spin, the head then waits for ``Broker/retryNow(_:)``, a restart, or
    /// ``RouteOptions/releaseDelay``, whichever comes first.
    public static let release = Outcome(storage: .release(untilOpen: nil))

    /// Give the action back without spending the attempt, until a gate opens.
    ///
    /// It waits as ``retry(whenOpen:)`` does, with ``RouteOptions/releaseDelay`` in the place of the policy's
    /// delay.
    public static func release(untilOpen gate: GateName) -> Outcome {
        Outcome(storage: .release(untilOpen: gate))
    }

    /// Give the action back without spending the attempt: the process lacks something that a start needs.
    ///
    /// - Parameters:
    ///   - reason: What it lacks; it is shown as the action's last error.
    ///   - delay: How long the head waits at most.
    package static func release(after delay: Duration, because reason: String) -> Outcome {
        Outcome(storage: .lack(of: reason, after: delay))
    }
}
