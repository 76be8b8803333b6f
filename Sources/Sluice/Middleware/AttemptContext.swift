/// An attempt, as a ``Middleware`` sees it: without the payload (G13).
public struct AttemptContext: Sendable {
    /// The attempt, as its handler sees it.
    public let attempt: Attempt
    /// The pattern of the first route that performs it, `*` for a route by predicate.
    public let pattern: QueuePattern
    private let action: ClaimedAction
    private let decide: @Sendable (HandlerResult) -> AttemptResult

    init(
        _ action: ClaimedAction,
        _ attempt: Attempt,
        _ pattern: QueuePattern,
        decide: @escaping @Sendable (HandlerResult) -> AttemptResult
    ) {
        self.action = action
        self.attempt = attempt
        self.pattern = pattern
        self.decide = decide
    }

    /// The fields that the enqueuer's middleware has stored in ``EnqueueContext/trace``.
    public var trace: [String: String] { TraceText.fields(of: action.trace) }
    /// Returns the result of an outcome that overrides the handler's; each call asks the retry policy again.
    public func result(of outcome: Outcome) -> AttemptResult { decide(.outcome(outcome)) }
    func result(of result: HandlerResult) -> AttemptResult { decide(result) }
}
