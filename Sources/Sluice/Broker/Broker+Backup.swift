extension Broker {
    /// Copies the file while it is in use, as a snapshot of one moment after the call.
    ///
    /// The copy has everything that was acknowledged before the call, and the application's own tables. A
    /// broker can run it at once: actions that run at that moment wait in it, and get their attempt back.
    /// Copied actions keep their idempotency keys; actions enqueued in the copy get other keys than those of
    /// the original. The WAL cannot be reset until the copy has been read. The copy is written under a
    /// temporary name beside the destination, readable by its owner only. It is renamed when it is completely
    /// on disk, and removed after an error. Cancelling the task does not end it.
    ///
    /// - Parameter path: The destination, in an existing directory; nothing may exist at this path.
    /// - Throws: ``SluiceError`` `destinationExists`; `diskFull`, `readOnly` and `cannotOpen` for the
    ///   destination; `suspended` and `closed`, also during the copy; `unsupportedDatabase` for queues in
    ///   memory.
    public func backup(to path: String) async throws(SluiceError) { try await store.backUp(to: path) }
}
