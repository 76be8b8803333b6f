internal import Logging
internal import SluiceSQLite
internal import Synchronization

/// Copying the WAL if a reader has prevented the writer from doing so between two groups.
extension Store {
    /// The interval between tries to copy a WAL that a reader pins.
    package static let pinnedLogInterval: Duration = .seconds(1)

    /// Whether a reader has kept pages of the WAL from being copied, by the last try.
    package var isLogPinned: Bool { writer.trouble.pinnedPages > 0 }

    /// Copies and truncates the WAL; returns `false` if another connection has prevented it.
    package func eraseLog() async throws(SluiceError) -> Bool {
        guard case .file = location else { return true }
        writer.trouble.askForErasure()
        // The upkeep follows this group, before the next.
        try await write(sync: .later) { _ in }
        return try await write(sync: .later) { [writer] _ in writer.trouble.isLogErased }
    }

    /// Copies the pages that a reader had pinned, and restarts the WAL if it is above its limit.
    ///
    /// Otherwise an idle broker would leave the WAL at its length: only a commit after a complete copy
    /// restarts and truncates it.
    package func copyPinnedLog() async throws(SluiceError) {
        writer.trouble.askForCheckpoint()
        // The upkeep follows this group, before the next.
        try await write(sync: .later) { _ in }
        try await write(sync: .later) { [self] transaction in
            guard !isLogPinned, let path = transaction.core.connection.logPath else { return }
            guard let log = FileFact(path), log.byteCount > DatabaseFile.journalSizeLimit else { return }
            try transaction.core.writeBarrier()
        }
    }

    /// Whether it copies the WAL, now or when it is resumed.
    package var copiesLog: Bool { !writer.load.isClosed && check.refusal == nil }

    /// Copies and truncates the WAL if commits of other connections have made it too long (G12).
    ///
    /// After the engine's own commits, a copy follows when it is due. While the engine commits nothing, and
    /// others are set to leave the WAL to it, no one else copies it. The call costs a check of the file's
    /// size. A WAL that a reader pins is tried at intervals. While the store is suspended, the call does
    /// nothing.
    package func seeToLog() {
        // One of several processes may copy it before it is neglected.
        let limit = runners.hasOthers ? LogGuard.neglectedByteCount : DatabaseFile.journalSizeLimit
        guard let logPath, let log = FileFact(logPath), log.byteCount > limit else { return }
        guard !writer.load.isSuspended else { return }
        let now = clock.uptime
        let isDue = logCare.withLock { care in
            if care.isUnderWay { return false }
            if let last = care.last, now - last < Self.pinnedLogInterval { return false }
            care = (now, true)
            return true
        }
        guard isDue else { return }
        Task(executorPreference: executor) { [self] in
            do {
                try await copyPinnedLog()
            } catch {
                logger.debug("the log stays long", metadata: ["error": "\(error)"])
            }
            logCare.withLock { $0.isUnderWay = false }
        }
    }
}
