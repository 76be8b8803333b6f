extension Broker {
    /// Copies the file while it is in use, by SQLite's backup interface.
    ///
    /// The copy is of one moment after the call: it holds everything that was acknowledged before. It is a
    /// file of queues that runs at once: actions that run meanwhile wait in it, with their attempt given
    /// back. The application's own tables are copied too. Its actions keep their idempotency keys, and those
    /// that it enqueues get others than those of the original.
    ///
    /// ```swift
    /// try await broker.backup(to: "backups/outbox-2026-01-31.sqlite")
    /// ```
    ///
    /// Enqueuing and running go on. The log cannot begin anew until the copy has been read, so that it grows
    /// by what is written meanwhile. The copy is made under another name beside the destination, readable by
    /// its owner only, and gets its name when all of it is on the disk; after an error nothing is left
    /// behind.
    ///
    /// - Parameter path: Where the copy is to stand, in a directory that exists; nothing may stand there.
    /// - Throws: ``SluiceError/Code/destinationExists``; ``SluiceError/Code/diskFull``,
    ///   ``SluiceError/Code/readOnly`` and ``SluiceError/Code/cannotOpen`` for the destination;
    ///   ``SluiceError/Code/suspended`` and ``SluiceError/Code/closed``, also when that comes while the copy
    ///   is made; ``SluiceError/Code/unsupportedDatabase`` for queues in memory. Cancelling the task does not
    ///   end it.
    public func backup(to path: String) async throws(SluiceError) {
        try await store.backUp(to: path)
    }
}
