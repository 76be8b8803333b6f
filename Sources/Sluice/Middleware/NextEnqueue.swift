/// The rest of an enqueue: the inner middleware, and finally the file.
///
/// It is a type, not a closure: a closure's type depends on settings of the module that writes it, and such a
/// method would not match the protocol's requirement.
public struct NextEnqueue: Sendable {
    let proceed: @Sendable (EnqueueContext) async throws -> [ActionID]

    /// Stores the actions, durably when it returns.
    ///
    /// - Throws: Errors of the inner middleware, and of an enqueue of the broker.
    public func callAsFunction(_ context: EnqueueContext) async throws -> [ActionID] {
        try await proceed(context)
    }
}
