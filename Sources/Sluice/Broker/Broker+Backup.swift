extension Broker {
    /// Copies the file while it is in use, as a snapshot of one moment after the call, with SQLite's backup
    /// interface.
    ///
    /// The copy has everything that was acknowledged before the call, and the application's own tables. A
    /// broker can run it at once: actions that run at that moment wait in it, and get their attempt back.
    /// Copied actions keep their idempotency keys; actions enqueued in the copy get other keys than those of
    /// the original. The WAL cannot be reset until the copy has been read. The copy is written under a
    /// temporary name beside the destination, readable by its owner only. It is renamed when it is completely
    /// on disk, and removed after an error. Cancelling the task does not end it.
    ///
    /// - Parameter path: The destination, in an existing directory; nothing may exist at this path.
    /// - Throws: ``SluiceError/Code/destinationExists``; ``SluiceError/Code/diskFull``,
    ///   ``SluiceError/Code/readOnly`` and ``SluiceError/Code/cannotOpen`` for the destination;
    ///   ``SluiceError/Code/suspended`` and ``SluiceError/Code/closed``, also during the copy;
    ///   ``SluiceError/Code/unsupportedDatabase`` for queues in memory.
    public func backup(to path: String) async throws(SluiceError) { try await store.backUp(to: path) }
}
