extension Store {
    /// Stores actions, all or none, in their order; they are durable when it returns.
    ///
    /// - Throws: `CancellationError` if the task was cancelled before the write began; `SluiceError`
    ///   otherwise. Nothing is stored then, except possibly with ``SluiceError/Code/unknownCommit``.
    package func enqueue(_ drafts: [ActionDraft]) async throws -> [ActionID] {
        try await writeUnlessCancelled(sync: .owed) { try $0.enqueues.enqueue(drafts) }.get()
    }

    package func enqueueBlocking(_ drafts: [ActionDraft]) throws(SluiceError) -> [ActionID] {
        try writeBlocking(sync: .owed) { try $0.enqueues.enqueue(drafts) }.get()
    }

    /// Stores actions, all or none, after those of earlier calls, on the writer's thread.
    package func submit(
        _ drafts: [ActionDraft],
        completion: @escaping @Sendable (Result<[ActionID], SluiceError>) -> Void
    ) {
        writer.submit(
            Write(
                sync: .owed,
                commitsOnWriterThread: true,
                body: { try $0.enqueues.enqueue(drafts) },
                completion: { completion($0.flatMap { $0 }) }
            )
        )
    }
}
