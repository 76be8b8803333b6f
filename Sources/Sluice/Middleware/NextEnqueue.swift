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

/// Enqueues actions through middleware, the outermost first, and writes what the innermost passes on.
package func enqueue(
    _ drafts: [ActionDraft],
    through middleware: [any Middleware],
    write: @escaping @Sendable ([ActionDraft]) async throws -> [ActionID]
) async throws -> [ActionID] {
    guard !drafts.isEmpty else { return [] }
    guard !middleware.isEmpty else { return try await write(drafts) }
    let ids = try await pass(middleware[...], EnqueueContext(drafts), write)
    precondition(ids.count == drafts.count, "a middleware's enqueue must return what next has returned")
    return ids
}

private func pass(
    _ rest: ArraySlice<any Middleware>,
    _ work: EnqueueContext,
    _ write: @escaping @Sendable ([ActionDraft]) async throws -> [ActionID]
) async throws -> [ActionID] {
    guard let first = rest.first else { return try await write(work.traced) }
    return try await first.enqueue(work, next: NextEnqueue { try await pass(rest.dropFirst(), $0, write) })
}
