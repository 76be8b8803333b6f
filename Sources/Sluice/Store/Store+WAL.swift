internal import Logging
internal import SluiceSQLite
internal import Synchronization

extension Store {
    package static let pinnedWALInterval: Duration = .seconds(1)

    /// By the last try.
    package var isWALPinned: Bool { writer.trouble.pinnedPages > 0 }

    /// Copies and truncates the WAL; returns `false` if another connection has prevented it.
    package func truncateWAL() async throws(SluiceError) -> Bool {
        guard case .file = location else { return true }
        writer.trouble.askForErasure()
        // The upkeep follows this group, before the next.
        try await write(sync: .later) { _ in }
        return try await write(sync: .later) { [writer] _ in writer.trouble.isWALTruncated }
    }

    /// Copies the pages that a reader had pinned, and restarts the WAL if it is above its limit.
    ///
    /// Only a commit after a complete copy restarts and truncates it, and an idle broker makes none.
    package func checkpointPinnedWAL() async throws(SluiceError) {
        writer.trouble.askForCheckpoint()
        // The upkeep follows this group, before the next.
        try await write(sync: .later) { _ in }
        try await write(sync: .later) { [self] transaction in
            guard !isWALPinned, let path = transaction.core.connection.walPath else { return }
            guard let log = FileFact(path), log.byteCount > DatabaseFile.journalSizeLimit else { return }
            try transaction.core.writeBarrier()
        }
    }

    /// Whether it copies the WAL, now or when resumed.
    package var checkpointsWAL: Bool { !writer.load.isClosed && check.refusal == nil }

    /// Copies and truncates the WAL if commits of other connections have made it too long (G12).
    ///
    /// While the engine commits nothing, and others are set to leave the WAL to it, no one else copies it.
    /// The call costs a check of the file's size. A WAL that a reader pins is tried at intervals. While the
    /// store is suspended, the call does nothing.
    package func checkWAL() {
        // One of several processes may copy it before it is neglected.
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
