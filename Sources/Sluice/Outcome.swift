/// The result of an attempt; a thrown error is a ``retry`` with that error.
public struct Outcome: Sendable, Hashable {
    enum Storage: Sendable, Hashable {
        case success
        case successWriting(SettlingClosure)
        /// `nil`: the delay of the route's retry policy.
        case retry(after: Duration?, whenOpen: GateName?, closes: Bool = false, reason: String? = nil)
        case fail(reason: String)
        case halt(reason: String)
        /// `nil`: the delay of the route's options.
        case release(after: Duration?, untilOpen: GateName?, closes: Bool = false, reason: String?)
        case declined
    }

    let storage: Storage
    /// The action is done: it is removed, and the next of its queue can start.
    public static let success = Outcome(storage: .success)

    /// The action is done, and the closure's writes are committed in the same transaction, exactly once (G5).
    ///
    /// ```swift
    /// return .success { transaction in
    ///     try markSent(message.id, on: transaction.connection)     // the application's SQL, on a sqlite3 *
    ///     try transaction.enqueue(RefreshPreview(of: message.id))  // a follow-up
    /// }
    /// ```
    ///
    /// The closure runs in the settling transaction, on a thread of the broker's writer, and blocks all other
    /// writes. Keep it short, wait for nothing, and call no method of the broker, which would wait for
    /// itself: use ``SettlingTransaction``. After a failed commit it may run again, so
    /// it should change only the database.
    ///
    /// If the closure throws, or a constraint fails at the commit, nothing is written, and the attempt counts
    /// as one that threw that error. The closure does not run if the action has been deleted, or settled by
    /// ``Attempt/succeed(in:)``, or if another process has taken over the queue (G6). If the action was
    /// cancelled while it ran, the success still counts. The commit is synced like an enqueue.
    public static func success(_ work: @escaping @Sendable (SettlingTransaction) throws -> Void) -> Outcome {
        Outcome(storage: .successWriting(SettlingClosure(work)))
    }

    /// Try again, if and when the route's retry policy says.
    public static let retry = Outcome(storage: .retry(after: nil, whenOpen: nil))

    /// Try again after a delay, at most 100 years; until then, nothing of the queue runs.
    ///
    /// The route's limit of attempts still counts. Zero or less is at once. The reason, at most
    /// ``SluiceError/maximumTextByteCount`` bytes without the payload, becomes the last error.
    public static func retry(after delay: Duration, because reason: String? = nil) -> Outcome {
        Outcome(storage: .retry(after: delay, whenOpen: nil, reason: reason))
    }

    /// Try again, if and when the route's retry policy says, with a reason, which becomes the last error.
    public static func retry(because reason: String) -> Outcome {
        Outcome(storage: .retry(after: nil, whenOpen: nil, reason: reason))
    }

    /// Try again as soon as a gate opens.
    ///
    /// If the gate has been opened since the attempt began, that is at once. If it was open all the time, the
    /// action waits for the delay of the route's retry policy, and then for the gate if it has closed. The
    /// route's limit of attempts counts. A gate with a name outside its limits counts as closed.
    public static func retry(whenOpen gate: GateName) -> Outcome {
        Outcome(storage: .retry(after: nil, whenOpen: gate))
    }

    /// Try again after a delay, and close a gate for that time: what made this attempt fail is not its fault.
    ///
    /// Use it for what all that call one server share, such as its answer that there are too many requests.
    /// The gate closes in the transaction that ends the attempt. Until it opens, no action starts whose route
    /// names it in ``RouteOptions/gates``, and neither does this action, which may be of a route without it.
    /// The gate opens by itself, and the starts of the queues that wait for it are spread over a tenth of the
    /// delay, a second at least and a minute at most. If a start closes it again, the rest keep waiting.
    ///
    /// If the gate is closed already, the later end counts; one that was closed without an end stays closed.
    /// So does one that nobody has opened, or whose name is outside the limits of ``GateName``: only this
    /// action waits then, for the delay. The route's limit of attempts counts, and an attempt that reaches it
    /// closes nothing. See <doc:CallingServers>.
    public static func retry(after delay: Duration, closing gate: GateName) -> Outcome {
        guard gate.isValid else { return retry(after: delay) }
        return Outcome(storage: .retry(after: delay, whenOpen: gate, closes: true))
    }

    /// The action can never succeed: the route's failure policy for ``FailureCause/failed`` decides.
    ///
    /// The reason, at most ``SluiceError/maximumTextByteCount`` bytes, should not repeat the payload.
    public static func fail(_ reason: String) -> Outcome { Outcome(storage: .fail(reason: reason)) }
    /// Park the queue, whatever the failure policy says, until ``Broker/retryNow(_:)``, also over restarts.
    ///
    /// Use it for failures that time cannot repair. The reason is as for ``fail(_:)``.
    public static func halt(_ reason: String) -> Outcome { Outcome(storage: .halt(reason: reason)) }
    /// The action is for another route: the next one in the order of specificity gets the same attempt.
    ///
    /// ```swift
    /// try broker.route("files/*", Upload.self) { upload, attempt in
    ///     guard upload.isImage else { return .declined }
    ///     …
    /// }
    /// try broker.routeAnyKind("*") { payload, attempt in … }   // gets all other uploads
    /// ```
    ///
    /// Nothing is written, and no attempt is spent. Each route that matches the queue and the kind is asked
    /// once; at one pattern, the route for any kind follows that for the kind. The timeout, which starts
    /// again, and the policies are those of the route that handles the action; the permit and the gates are
    /// those of the first.
    ///
    /// If every route answers so, the action is given back as after ``release``, for a minute or
    /// ``RouteOptions/releaseDelay`` if that is longer, and its last error says why (G10). It is tried again
    /// at the latest then; ``Broker/retryNow(_:)`` tries it at once, such as after a route was added.
    public static let declined = Outcome(storage: .declined)

    /// Give the action back without spending the attempt.
    ///
    /// The head then waits for ``Broker/retryNow(_:)``, a restart, or ``RouteOptions/releaseDelay``.
    public static let release = Outcome(storage: .release(after: nil, untilOpen: nil, reason: nil))

    /// Give the action back without spending the attempt, until a gate opens.
    ///
    /// It waits as with ``retry(whenOpen:)``, with ``RouteOptions/releaseDelay`` for the policy's delay.
    public static func release(untilOpen gate: GateName) -> Outcome {
        Outcome(storage: .release(after: nil, untilOpen: gate, reason: nil))
    }

    /// Give the action back without spending the attempt; the next is due after a second or more.
    ///
    /// Use it for what is not the action's fault, such as a server that is down. The queue waits for its head
    /// as after ``retry(after:because:)``, but a restart ends the wait, as after ``release``. A reason, of at
    /// most ``SluiceError/maximumTextByteCount`` bytes without the payload, replaces the last error.
    public static func release(after delay: Duration, because reason: String? = nil) -> Outcome {
        // Shorter, and the head could spin: no attempt is spent, so no policy ends it.
        Outcome(storage: .release(after: max(delay, .seconds(1)), untilOpen: nil, reason: reason))
    }

    /// Give the action back without spending the attempt, and close a gate for the delay, a second or more.
    ///
    /// The gate is closed as by ``retry(after:closing:)``, the action waits as after
    /// ``release(after:because:)``. A restart ends the action's own wait, but opens no gate.
    public static func release(
        after delay: Duration,
        closing gate: GateName,
        because reason: String? = nil
    ) -> Outcome {
        guard gate.isValid else { return release(after: delay, because: reason) }
        let delay = max(delay, .seconds(1))
        return Outcome(storage: .release(after: delay, untilOpen: gate, closes: true, reason: reason))
    }
}
