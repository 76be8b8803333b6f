internal import Logging
internal import SluiceSQLite

/// What is done between two groups.
extension GroupCommitter {
    /// Whether there is work to do between two groups.
    var isUpkeepDue: Bool {
        (transaction.core.isWriteBehindDue || isCheckpointDue || space != .none || trouble.isTruncationAsked)
            && !isSuspended && check.refusal == nil
    }

    private var isCheckpointDue: Bool {
        trouble.isCheckpointAsked || checkpoints.isDue(at: connection.walFrames)
    }

    /// Gives up what is kept for commits that follow each other.
    ///
    /// - Returns: Whether it is to be called again.
    func rest() -> Bool {
        do {
            return try walGuard?.rest() ?? false
        } catch {
            // It is asked whether a checkpoint is under way with syncs turned off.
            mustSetSynchronous = true
            logger.debug("the WAL's pin stays", metadata: ["error": "\(error)"])
            return true
        }
    }

    /// Does what is due between two groups.
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

    /// Copies the log and cuts it to nothing, unless a reader or a writer is in the way.
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

    /// Writes the order of what waits to the file, in a transaction of its own.
    ///
    /// A failure leaves it in memory, or to the next start; the next try follows when there is more.
    private func writeBehind() {
        let write = WriteBehind()
        _ = commit([write], waitsForLock: true)
        guard let error = write.failure else { return }
        transaction.core.postponeWriteBehind()
        logger.debug("writing the order behind failed", metadata: ["error": "\(error.code)"])
    }

    /// Takes one step in giving free pages back; the last asks for a checkpoint, which cuts the file.
    ///
    /// A failure leaves the file as long as it is; the next look follows the next checkpoint.
    private func giveBackSpace() {
        let step = GiveBack(isUnderWay: space == .isUnderWay)
        _ = commit([step], waitsForLock: true)
        if let error = step.failure {
            logger.debug("giving space back failed", metadata: ["error": "\(error.code)"])
        }
        if !step.hasMore && space == .isUnderWay { trouble.askForCheckpoint() }
        space = step.hasMore ? .isUnderWay : .none
    }

    /// Copies the log into the database, as far as readers allow.
    ///
    /// A failure leaves the log whole, only longer; the next try follows when it is due again, or asked for.
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
            // It may have failed while it was asked whether another checkpoint is under way, with syncs off.
            mustSetSynchronous = true
            logger.debug("checkpoint failed", metadata: ["error": "\(error)"])
        }
    }
}

/// The write of ``WriteTransaction/writeBehind()``.
private final class WriteBehind: PendingWrite {
    let sync = SyncNeed.later
    /// Why it failed, if it has.
    ///
    /// Set and read by the writer's leader alone.
    private(set) nonisolated(unsafe) var failure: SluiceError?

    func perform(in transaction: WriteTransaction) throws { try transaction.core.writeBehind() }

    func complete() {}

    func complete(failing error: SluiceError) { failure = error }
}
