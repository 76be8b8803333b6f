internal import Logging
internal import SluiceSQLite
internal import Synchronization

/// The log: copied by the writer between two groups, and here when a reader has kept it from that.
extension Store {
    /// How often a log that a reader keeps is tried to be copied again.
    package static let pinnedWALInterval: Duration = .seconds(1)

    /// Whether a reader has kept pages of the log from being copied, by the last try.
    package var isWALPinned: Bool { writer.trouble.pinnedPages > 0 }

    /// Copies the log and cuts it to nothing.
    ///
    /// - Returns: `false` when another connection has kept it from that.
    package func truncateWAL() async throws(SluiceError) -> Bool {
        guard case .file = location else { return true }
        writer.trouble.askForErasure()
        // The upkeep follows this group, and goes before the next.
        try await write(sync: .later) { _ in }
        return try await write(sync: .later) { [writer] _ in writer.trouble.isWALTruncated }
    }

    /// Copies what a reader had kept, and has the log begin anew if it has outgrown its bound.
    ///
    /// Without this a broker with nothing to do would leave the log as long as it has become: only a commit
    /// behind a complete copy begins it anew and cuts it.
    package func checkpointPinnedWAL() async throws(SluiceError) {
        writer.trouble.askForCheckpoint()
        // The upkeep follows this group, and goes before the next.
        try await write(sync: .later) { _ in }
        try await write(sync: .later) { [self] transaction in
            guard !isWALPinned, let path = transaction.core.connection.walPath else { return }
            guard let log = FileFact(path), log.byteCount > DatabaseFile.journalSizeLimit else { return }
            try transaction.core.writeBarrier()
        }
    }

    /// Whether it copies the log, now or when it is resumed.
    package var checkpointsWAL: Bool { !writer.load.isClosed && check.refusal == nil }

    /// Has the log copied and cut, if commits of other connections have made it too long (G12).
    ///
    /// What the engine commits itself is followed by a copy when that is due. Where it commits nothing, and
    /// others have been told to leave the log to it, nobody else does. It costs a look at the file's size; a
    /// log that a reader keeps is tried once in a while. While it is suspended it does nothing.
    package func checkWAL() {
        // One of several processes may see to it, before it is neglected.
        let limit = runners.hasOthers ? WALGuard.neglectedByteCount : DatabaseFile.journalSizeLimit
        guard let walPath, let log = FileFact(walPath), log.byteCount > limit else { return }
        guard !writer.load.isSuspended else { return }
        let now = clock.uptime
        let isDue = walCare.withLock { care in
            if care.isUnderWay { return false }
            if let last = care.last, now - last < Self.pinnedWALInterval { return false }
            care = (now, true)
            return true
        }
        guard isDue else { return }
        Task(executorPreference: executor) { [self] in
            do {
                try await checkpointPinnedWAL()
            } catch {
                logger.debug("the WAL stays long", metadata: ["error": "\(error)"])
            }
            walCare.withLock { $0.isUnderWay = false }
        }
    }
}
