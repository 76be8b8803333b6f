internal import Logging
internal import SluiceSQLite

/// Work done between two groups.
extension GroupCommitter {
    var isUpkeepDue: Bool {
        (transaction.core.isWriteBehindDue || isCheckpointDue || space != .none || trouble.isTruncationAsked)
            && !isSuspended && check.refusal == nil
    }

    private var isCheckpointDue: Bool {
        (trouble.isCheckpointAsked || checkpoints.isDue(at: connection.walFrames))
            && checkpoints.mayTry(at: place.now)
    }

    /// Releases the pin kept for successive commits, and returns whether it must be called again.
    func rest() -> Bool {
        do { return try walGuard?.rest() ?? false } catch { upkeepFailed("the WAL's pin stays", error) }
        return true
    }

    func performUpkeep() {
        isAtUpkeep = true
        defer { isAtUpkeep = false }
        if transaction.core.isWriteBehindDue { writeBehind() }
        if trouble.isTruncationAsked { return truncateWAL() }
        if isCheckpointDue { return checkpoint() }
        if space != .none { giveBackSpace() }
    }

    /// Copies and truncates the WAL, unless a reader or a writer prevents it.
    private func truncateWAL() {
        checkpoints.checkpointed(at: connection.walFrames)
        trouble.startCheckpoint()
        let start = place.now
        do {
            try restoreSynchronous()
            connection.setBusyTimeout(WALGuard.patience)
            let result = try withReserve { try walGuard?.truncate() ?? connection.checkpoint(.truncate) }
            try walGuard?.checkpointed()
            ended(result, since: start)
            trouble.erased(!result.wasBlocked)
        } catch {
            trouble.erased(false)
            checkpointFailed("truncating the WAL failed", error)
        }
    }

    /// Records what a checkpoint has copied; one that another's has refused is made later.
    private func ended(_ result: Checkpoint, since start: Duration) {
        guard !result.wasRefused else {
            checkpoints.refused(now: place.now)
            return trouble.askForCheckpoint()
        }
        trouble.pinned(result.frames - result.copied)
        checkpoints.ended(copied: result.copied, of: result.frames, since: start, now: place.now)
        if space == .none { space = .isDue }
        let counts = ["frames": "\(result.frames)", "copied": "\(result.copied)"] as Logger.Metadata
        logger.trace("checkpoint", metadata: counts)
    }

    /// Records a failed checkpoint: it leaves the WAL longer, unless it has failed to sync.
    private func checkpointFailed(_ message: Logger.Message, _ error: any Error) {
        upkeepFailed(message, error)
        // The system tells of lost pages once: the next sync would succeed without them.
        let isSync = (error as? SQLiteError)?.code == .ioErrorSync
        if isSync, !mutant("failed sync of a checkpoint") { syncFailed() }
    }

    /// Writes the order to disk; after a failure it stays in memory until there is more to write.
    private func writeBehind() {
        do { try commitUpkeep { try $0.core.writeBehind() } } catch {
            transaction.core.postponeWriteBehind()
            logger.debug("writing the order to the file failed", metadata: ["error": "\(error.code)"])
        }
    }

    /// Cuts off a step of free pages; after the last, a checkpoint shortens the file.
    private func giveBackSpace() {
        let isUnderWay = space == .isUnderWay
        var hasMore = false
        do { hasMore = try commitUpkeep { try $0.giveBackPages(isUnderWay: isUnderWay) } } catch {
            logger.debug("giving space back failed", metadata: ["error": "\(error.code)"])
        }
        if !hasMore && isUnderWay { trouble.askForCheckpoint() }
        space = hasMore ? .isUnderWay : .none
        // One step follows the other: who tries to get the lock now and then must find it free.
        if hasMore { connection.pause() }
    }

    /// Copies the WAL into the database, as far as readers allow; a failure only leaves the WAL longer.
    private func checkpoint() {
        let frames = connection.walFrames
        let isAsked = trouble.isCheckpointAsked
        checkpoints.checkpointed(at: frames)
        trouble.startCheckpoint()
        if let walGuard, walGuard.leavesCheckpoint(of: frames, limit: checkpoints.limit) {
            return trouble.pinned(0)
        }
        let start = place.now
        do {
            try restoreSynchronous()
            let result = try withReserve {
                try walGuard?.checkpoint(isLong: isAsked) ?? connection.checkpoint(.passive)
            }
            try walGuard?.checkpointed()
            ended(result, since: start)
            // SQLite cuts the file only where the connection that restarts the WAL has a limit.
            if result.copied == result.frames, reserve?.isWALTooLong == true { trouble.askForTruncation() }
        } catch {
            checkpointFailed("checkpoint failed", error)
        }
    }

    /// Commits a write of the upkeep in a transaction of its own.
    private func commitUpkeep<Output: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction) throws -> Output
    ) throws(SluiceError) -> Output {
        // Set and read only by the writer's leader.
        nonisolated(unsafe) var result: Result<Output, SluiceError>?
        _ = commit([Write(sync: .later, body: body, completion: { result = $0 })], waitsForLock: true)
        guard let result else { preconditionFailure("a group was left without a result") }
        return try result.get()
    }
}
