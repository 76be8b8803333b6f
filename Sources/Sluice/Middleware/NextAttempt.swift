/// The rest of an attempt: the inner middleware, and finally the handler.
public struct NextAttempt: Sendable {
    let proceed: @Sendable () async throws -> AttemptResult

    /// Performs the attempt and returns its result.
    ///
    /// - Throws: Errors of the inner middleware; an error of the handler is a result.
    public func callAsFunction() async throws -> AttemptResult { try await proceed() }
}
