extension Store {
    /// Stores actions, all or none, in their order, durably when it returns.
    ///
    /// - Throws: `CancellationError` when the task was cancelled before the write began; `SluiceError`
    ///   otherwise. Nothing is stored then, but for ``SluiceError/Code/unknownCommit``.
    package func enqueue(_ drafts: [ActionDraft]) async throws -> [ActionID] {
        try await writeUnlessCancelled(sync: .owed) { try $0.enqueues.enqueue(drafts) }.get()
    }

    /// Stores actions as ``enqueue(_:)`` does and blocks the calling thread until the commit.
    package func enqueueBlocking(_ drafts: [ActionDraft]) throws(SluiceError) -> [ActionID] {
        try writeBlocking(sync: .owed) { try $0.enqueues.enqueue(drafts) }.get()
    }
}
