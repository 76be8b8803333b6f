/// The rest of an enqueue: the inner middleware, and finally the file.
///
/// A closure's type would depend on settings of the user's module, and miss the protocol's requirement.
public struct NextEnqueue: Sendable {
    let proceed: @Sendable (EnqueueContext) async throws -> [ActionID]

    /// Stores the actions, durably when it returns.
    ///
    /// - Throws: Errors of the inner middleware, and of an enqueue of the broker.
    public func callAsFunction(_ context: EnqueueContext) async throws -> [ActionID] {
        try await proceed(context)
    }
}
