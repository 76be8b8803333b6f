/// Releasing the file while the system suspends the process.
///
/// iOS kills a suspended application that holds a lock on a file in a shared container. Such an application
/// suspends its broker when it goes to the background, and resumes it when it returns.
extension Broker {
    /// Ends the open transaction, releases all locks and closes the file until ``resume()``.
    ///
    /// - Calls wait, also those that block their thread; a cancelled write is withdrawn. ``backup(to:)``
    ///   throws.
    /// - Running handlers continue, and their outcomes wait to be written. Nothing new starts.
    /// - ``stop(grace:)`` begins at once and returns after ``resume()``; ``close(grace:)`` reopens the file.
    /// - Other processes run waiting queues, and after this process's lease of 30 seconds also what ran here.
    ///
    /// The call waits for the current group commit, which may wait for ``FileOptions/lockTimeout``. If SQLite
    /// has the WAL-reset bug, it waits up to a second for checkpoints of others. It has no effect on a
    /// suspended broker and in memory.
    public func suspend() async { await (engine as? FileEngine)?.suspend() }

    /// Opens the file again with the same checks, writes pending outcomes and reads the changes by others.
    ///
    /// On a broker that is not suspended, the call has no effect. After an error of opening it stays
    /// suspended, and the call can be repeated; ``SluiceError/Code/fileReplaced`` and
    /// ``SluiceError/Code/newerSchema`` are permanent: waiting calls end with them.
    public func resume() async throws(SluiceError) { try await (engine as? FileEngine)?.resume() }

    /// Whether the broker is suspended, from ``suspend()`` to ``resume()``.
    public var isSuspended: Bool { (engine as? FileEngine)?.suspension.isOn ?? false }
}
