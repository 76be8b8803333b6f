/// The file of a broker, and what only a file has.
///
/// ```swift
/// try await broker.file?.backup(to: "outbox-copy.sqlite")
/// ```
public struct BrokerFile: Sendable {
    let engine: FileEngine

    /// Copies the file while it is in use, as a snapshot of one moment after the call.
    ///
    /// The copy has everything that was acknowledged before the call, and the application's own tables. A
    /// broker can run it at once: actions that ran get their attempt back. Copied actions keep their
    /// idempotency keys; actions enqueued in the copy get other keys than those of the original. The WAL
    /// cannot be reset until the copy has been read. The copy is written beside the destination under a
    /// temporary name, readable by its owner only, and renamed when it is completely on disk; after an error
    /// it is removed. Cancelling the task does not end it.
    ///
    /// - Parameter path: The destination, in an existing directory; nothing may exist at this path.
    /// - Throws: ``SluiceError`` `destinationExists`; `diskFull`, `readOnly` and `cannotOpen` for the
    ///   destination; `suspended` and `closed`, also during the copy.
    public func backup(to path: String) async throws(SluiceError) {
        try await engine.store.backUp(to: path)
    }

    /// Makes all commits to the file so far survive a loss of power, whoever has made them.
    ///
    /// Call it after enqueuing on a connection whose commits are not synced. It cannot repair pages that a
    /// connection with `synchronous = OFF` has checkpointed. After an error nothing is known to be durable.
    public func flush() async throws(SluiceError) { try await engine.store.sync() }

    /// Copies the WAL into the database and truncates it, so that neither contains deleted payloads.
    ///
    /// The broker does so with ``FileOptions/erasesPayloads``; without it, the database may keep deleted
    /// payloads. Returns `false` when another connection prevented the truncation: call it again.
    public func truncateWAL() async throws(SluiceError) -> Bool {
        try await engine.store.truncateWAL()
    }

    /// Returns the holders of the write lock, and the readers that pin the WAL; it waits for no lock.
    public func health() async throws(SluiceError) -> BrokerHealth {
        try await engine.store.health()
    }

    /// Returns the problems of a connection of the application with this file, to log when it is opened.
    ///
    /// It changes nothing. It throws when SQLite cannot answer, as when the connection itself holds a lock.
    public func diagnose(_ connection: OpaquePointer) throws(SluiceError) -> [ConnectionFinding] {
        try engine.store.diagnose(connection)
    }
}

/// Releasing the file while the system suspends the process.
///
/// iOS kills a suspended application that holds a lock on a file in a shared container. Such an application
/// suspends its broker when it goes to the background, and resumes it when it returns.
extension BrokerFile {
    /// Ends the open transaction, releases all locks and closes the file until ``resume()``.
    ///
    /// - Calls wait, also those that block their thread; a cancelled write is withdrawn. ``backup(to:)``
    ///   throws.
    /// - Running handlers continue, and their outcomes wait to be written. Nothing new starts.
    /// - ``Broker/stop(grace:)`` begins at once and returns after ``resume()``; ``Broker/close(grace:)``
    ///   reopens the file.
    /// - Other processes run waiting queues, and after this process's lease of 30 seconds also what ran here.
    ///
    /// The call waits for the current group commit, which may wait for ``FileOptions/lockTimeout``. If SQLite
    /// has the WAL-reset bug, it waits up to a second for checkpoints of others. It has no effect on a
    /// suspended broker.
    public func suspend() async { await engine.suspend() }

    /// Opens the file again with the same checks, writes pending outcomes and reads the changes by others.
    ///
    /// On a broker that is not suspended, the call has no effect. After an error of opening it stays
    /// suspended, and the call can be repeated; ``SluiceError/Code/fileReplaced`` and
    /// ``SluiceError/Code/newerSchema`` are permanent: waiting calls end with them.
    public func resume() async throws(SluiceError) { try await engine.resume() }

    /// Whether the broker is suspended, from ``suspend()`` to ``resume()``.
    public var isSuspended: Bool { engine.suspension.isOn }
}

extension Broker {
    /// The file of the broker; `nil` for queues in memory or on a server.
    public var file: BrokerFile? {
        guard let engine = engine as? FileEngine, engine.hasFile else { return nil }
        return BrokerFile(engine: engine)
    }
}
