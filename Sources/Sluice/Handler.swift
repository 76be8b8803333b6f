/// Performs the actions of one type.
///
/// Handlers of one queue never overlap; those of separate queues run at the same time, so a handler that
/// several queues share protects its own state.
public protocol Handler<Input>: Sendable {
    /// The type of action that it performs.
    associatedtype Input: Action

    /// Performs an action.
    ///
    /// It may be called more than once for one action, with the same ``Attempt/idempotencyKey`` (G5). It
    /// should end soon when its task is cancelled: a timeout, a stop of the broker and a cancelled action
    /// cancel it, and its queue waits until it has returned (G3).
    ///
    /// - Returns: What follows.
    /// - Throws: Anything; it means a retry by the route's policy. The error's text is kept as the action's
    ///   last error, so it should not repeat the payload.
    func handle(_ action: Input, _ attempt: Attempt) async throws -> Outcome
}

/// Performs the actions of one type and tells the outcome through a completion, from any thread, at any time.
public protocol CompletionHandler<Input>: Sendable {
    /// The type of action that it performs.
    associatedtype Input: Action

    /// Begins to perform an action and returns.
    ///
    /// - Parameters:
    ///   - action: What is to be done.
    ///   - attempt: Which attempt it is, and the idempotency key.
    ///   - completion: To be called once. Until it is called, or dropped, the queue waits.
    func handle(_ action: Input, _ attempt: Attempt, completion: Completion)
}
