internal import Logging
internal import SluiceSQLite

/// Work done between two groups.
extension GroupCommitter {
    var isUpkeepDue: Bool {
        (transaction.core.isWriteBehindDue || isCheckpointDue || space != .none || trouble.isTruncationAsked)
            && !isSuspended && check.refusal == nil
    }

    private var isCheckpointDue: Bool {
        trouble.isCheckpointAsked || checkpoints.isDue(at: connection.walFrames)
    }

    /// Releases the pin kept for successive commits, and returns whether it must be called again.
    func rest() -> Bool {
        do {
            return try walGuard?.rest() ?? false
        } catch {
            // The check for other checkpoints turns syncs off, and may have failed in between.
            mustSetSynchronous = true
            logger.debug("the WAL's pin stays", metadata: ["error": "\(error)"])
            return true
        }
    }

    /// Does the upkeep that is due.
    func performUpkeep() {
        isAtUpkeep = true
        defer { isAtUpkeep = false }
        if transaction.core.isWriteBehindDue { writeBehind() }
        if trouble.isTruncationAsked {
            truncateWAL()
        } else if isCheckpointDue {
            checkpoint()
        } else if space != .none {
            giveBackSpace()
        }
    }

    /// Copies and truncates the WAL, unless a reader or a writer prevents it.
    private func truncateWAL() {
        checkpoints.checkpointed(at: connection.walFrames)
        trouble.startCheckpoint()
        do {
            connection.setBusyTimeout(WALGuard.patience)
            let result =
                try walGuard?.truncate(within: WALGuard.patience) ?? connection.checkpoint(.truncate)
            try walGuard?.checkpointed()
            trouble.erased(!result.wasBlocked)
            if space == .none { space = .isDue }
        } catch {
            trouble.erased(false)
            mustSetSynchronous = true
            logger.debug("truncating the WAL failed", metadata: ["error": "\(error)"])
        }
    }

    /// Writes the order of waiting actions to disk, in a transaction of its own.
    ///
    /// After a failure the order stays in memory, and the next try follows when there is more to write.
    private func writeBehind() {
        let write = WriteBehind()
        _ = commit([write], waitsForLock: true)
        guard let error = write.failure else { return }
        transaction.core.postponeWriteBehind()
        logger.debug("writing the order to the file failed", metadata: ["error": "\(error.code)"])
    }

    /// Cuts off a step of free pages; the last step requests a checkpoint, which shortens the file.
    ///
    /// After a failure the file keeps its length until the check after the next checkpoint.
    private func giveBackSpace() {
        let step = GiveBack(isUnderWay: space == .isUnderWay)
        _ = commit([step], waitsForLock: true)
        if let error = step.failure {
            logger.debug("giving space back failed", metadata: ["error": "\(error.code)"])
        }
        if !step.hasMore && space == .isUnderWay { trouble.askForCheckpoint() }
        space = step.hasMore ? .isUnderWay : .none
    }

    /// Copies the WAL into the database, as far as readers allow; a failure only leaves the WAL longer.
    private func checkpoint() {
        let frames = connection.walFrames
        checkpoints.checkpointed(at: frames)
        trouble.startCheckpoint()
        if let walGuard, walGuard.leavesCheckpoint(of: frames) { return trouble.pinned(0) }
        do {
            let result =
                if let walGuard {
                    try walGuard.checkpoint()
                } else {
                    try connection.checkpoint(.passive)
                }
            try walGuard?.checkpointed()
            trouble.pinned(result.frames - result.copied)
            if space == .none { space = .isDue }
            logger.trace(
                "checkpoint",
                metadata: ["frames": "\(result.frames)", "copied": "\(result.copied)"]
            )
        } catch {
            // It may have failed in the check for other checkpoints, which turns syncs off.
            mustSetSynchronous = true
            logger.debug("checkpoint failed", metadata: ["error": "\(error)"])
        }
    }
}

private final class WriteBehind: PendingWrite {
    let sync = SyncNeed.later
    /// Set and read only by the writer's leader.
    private(set) nonisolated(unsafe) var failure: SluiceError?

    func perform(in transaction: WriteTransaction) throws { try transaction.core.writeBehind() }

    func complete() {}

    func complete(failing error: SluiceError) { failure = error }
}
