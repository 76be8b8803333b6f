/// Code around every enqueue and every attempt of a broker: logging, limits, traces.
///
/// ```swift
/// struct FailureReport: Middleware {
///     func attempt(
///         _ context: AttemptContext,
///         next: NextAttempt
///     ) async throws -> AttemptResult {
///         let result = try await next()
///         if result.kind == .failed { report(context.attempt.kind, result.cause) }
///         return result
///     }
/// }
/// ```
///
/// Of those in ``BrokerOptions/middleware`` the first is the outermost: it begins first and ends last. Each
/// method has a default that goes on with the next.
public protocol Middleware: Sendable {
    /// Goes around an enqueue, of one action or of several that are stored together.
    ///
    /// Not around ``Broker/enqueueBlocking(_:notBefore:)``, which cannot wait for it, nor around what others
    /// write to the file.
    ///
    /// - Parameters:
    ///   - context: What is to be enqueued.
    ///   - next: Stores the actions, durably when it returns; to be called once, with the context or a
    ///     changed one.
    /// - Returns: What `next` has returned.
    /// - Throws: What the caller of `enqueue` is to get. Before `next` has been called nothing is stored;
    ///   after it has returned the actions are, whatever is thrown.
    func enqueue(
        _ context: EnqueueContext,
        next: NextEnqueue
    ) async throws -> [ActionID]

    /// Goes around an attempt: the reading of the payload and the handler.
    ///
    /// The claim is in the file before it begins (G7). What it returns is written when the outermost has
    /// returned, and the queue's slot is freed then (G3): what takes long here holds the queue up, counts
    /// towards the attempt's timeout and should heed its cancellation.
    ///
    /// - Parameters:
    ///   - context: The attempt.
    ///   - next: Performs the attempt and tells what it leads to; to be called once, or not at all.
    /// - Returns: What `next` has returned, or ``AttemptContext/result(of:)`` of another outcome.
    /// - Throws: Anything; it counts as thrown by the handler, after a success too.
    func attempt(
        _ context: AttemptContext,
        next: NextAttempt
    ) async throws -> AttemptResult
}

/// What a middleware goes on with in an enqueue: the middleware behind it, and the file at last.
///
/// A type of its own and no closure: a closure's type depends on settings of the module that writes it, and a
/// method that differs by them alone would not be the one that the protocol asks for.
public struct NextEnqueue: Sendable {
    let proceed: @Sendable (EnqueueContext) async throws -> [ActionID]

    /// Stores the actions, durably when it returns.
    ///
    /// - Throws: What the middleware behind throws, and what an enqueue of the broker does.
    public func callAsFunction(_ context: EnqueueContext) async throws -> [ActionID] {
        try await proceed(context)
    }
}

/// What a middleware goes on with in an attempt: the middleware behind it, and the handler at last.
public struct NextAttempt: Sendable {
    let proceed: @Sendable () async throws -> AttemptResult

    /// Performs the attempt and tells what it leads to.
    ///
    /// - Throws: What the middleware behind throws; what the handler throws is a result.
    public func callAsFunction() async throws -> AttemptResult { try await proceed() }
}

extension Middleware {
    /// Goes on with the next.
    public func enqueue(
        _ context: EnqueueContext,
        next: NextEnqueue
    ) async throws -> [ActionID] {
        try await next(context)
    }

    /// Goes on with the next.
    public func attempt(
        _ context: AttemptContext,
        next: NextAttempt
    ) async throws -> AttemptResult {
        try await next()
    }
}
