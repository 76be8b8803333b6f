/// Performs the actions of one type.
///
/// Handlers of one queue never overlap. Those of separate queues run at the same time, so a handler that
/// serves several queues must protect its own state.
public protocol Handler<Input>: Sendable {
    /// The type of action that it performs.
    associatedtype Input: Action

    /// Performs an action.
    ///
    /// It may be called more than once for one action, with the same ``Attempt/idempotencyKey`` (G5).
    /// Timeouts, stops and cancellations cancel its task: it should return soon, as the queue waits (G3).
    ///
    /// - Throws: An error means a retry by the route's policy; its kept text should not repeat the payload.
    func handle(_ action: Input, _ attempt: Attempt) async throws -> Outcome
}

/// Performs the actions of one type and reports the outcome through a completion, from any thread.
public protocol CompletionHandler<Input>: Sendable {
    /// The type of action that it performs.
    associatedtype Input: Action

    /// Begins to perform an action and returns.
    ///
    /// - Parameters:
    ///   - action: What is to be done.
    ///   - attempt: Which attempt it is, with its idempotency key.
    ///   - completion: Call it once, at any time. Until it is called or released, the queue waits.
    func handle(_ action: Input, _ attempt: Attempt, completion: Completion)
}
