/// Code around every enqueue and every attempt of a broker: logging, limits, traces.
///
/// ```swift
/// struct FailureReport: Middleware {
///     func attempt(_ context: AttemptContext, next: NextAttempt) async throws -> AttemptResult {
///         let result = try await next()
///         if result.kind == .failed { report(context.attempt.kind, result.cause) }
///         return result
///     }
/// }
/// ```
///
/// In ``BrokerOptions/middleware`` the first is the outermost: it begins first and ends last. Each method has
/// a default that calls the next.
public protocol Middleware: Sendable {
    /// Wraps an enqueue, of one action or of several that are stored together.
    ///
    /// It is not called for ``Broker/enqueueBlocking(_:_:notBefore:)``, ``Broker/submit(_:_:onError:)`` and
    /// writes of others.
    ///
    /// - Parameters:
    ///   - context: The actions and their options.
    ///   - next: Stores the actions, durably when it returns; call it once, with the context or a changed
    ///     one.
    /// - Returns: The result of `next`.
    /// - Throws: The error for the caller of `enqueue`. Before the call of `next` nothing is stored; after
    ///   its return the actions are stored, whatever is thrown.
    func enqueue(_ context: EnqueueContext, next: NextEnqueue) async throws -> [ActionID]

    /// Wraps an attempt: the reading of the payload and the handler.
    ///
    /// The claim is in the file before it begins (G7). The result is written, and then the queue's slot freed
    /// (G3), when the outermost middleware has returned: slow code counts towards the attempt's timeout.
    ///
    /// - Parameters:
    ///   - context: The attempt and its action.
    ///   - next: Performs the attempt and returns its result; call it once, or not at all.
    /// - Returns: The result of `next`, or ``AttemptContext/result(of:)`` of another outcome.
    /// - Throws: Any error; it counts as thrown by the handler, even after a success.
    func attempt(_ context: AttemptContext, next: NextAttempt) async throws -> AttemptResult
}

extension Middleware {
    /// Calls the next.
    public func enqueue(_ context: EnqueueContext, next: NextEnqueue) async throws -> [ActionID] {
        try await next(context)
    }

    /// Calls the next.
    public func attempt(_ context: AttemptContext, next: NextAttempt) async throws -> AttemptResult {
        try await next()
    }
}
