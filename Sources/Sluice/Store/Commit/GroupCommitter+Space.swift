internal import Logging
internal import SluiceSQLite

/// The space that commits and checkpoints take on a disk with little room: see ``SpaceReserve``.
extension GroupCommitter {
    /// Looks at the disk after a commit, if the WAL has grown or was restarted.
    func watchSpace() {
        guard reserve?.isLookDue(at: connection.walFrames) == true else { return }
        lookAtSpace()
    }

    private func lookAtSpace() {
        do {
            let pageSize = try pageSize()
            if reserve?.look(at: connection.walFrames, pageSize: pageSize) == true { try limitWAL() }
        } catch { upkeepFailed("the limit of the WAL stays", error) }
    }

    /// Has checkpoints made, and the WAL's file cut, at the limit that the reserve has found.
    func limitWAL() throws {
        let limit = reserve?.walLimit
        checkpoints.limit = limit
        // SQLite cuts the WAL's file to that when it restarts the WAL.
        let bytes = try limit.map { $0 * (try pageSize()) } ?? DatabaseFile.journalSizeLimit
        try connection.set(Pragma("journal_size_limit", min(bytes, DatabaseFile.journalSizeLimit)))
    }

    private func pageSize() throws -> Int {
        try connection.cached("PRAGMA page_size").first { $0.int(0) } ?? 0
    }

    /// Refuses a transaction that could leave the WAL with more than a checkpoint has room for.
    func ensureSpace() throws {
        // Also of the only transaction of a process.
        if reserve?.isNew == true, !mutant("space of a first commit") { lookAtSpace() }
        guard let reserve, reserve.walLimit != nil, !mutant("space of a checkpoint") else { return }
        guard try !reserve.mayCommit(pages: pageCount()) else { return }
        throw SQLiteError(code: .full, message: "the WAL could not be copied into the database")
    }

    /// Makes a checkpoint; on a full disk once more, after one that had the space that was kept for it.
    func withReserve(_ checkpoint: () throws -> Checkpoint) throws -> Checkpoint {
        do { return try checkpoint() } catch let error as SQLiteError {
            guard error.code.primary == .full, try copyIntoReserve() else { throw error }
        }
        return try checkpoint()
    }

    /// Copies the WAL into the space that was kept for it; returns whether there was any.
    private func copyIntoReserve() throws -> Bool {
        guard let reserve else { return false }
        // Otherwise commits of other processes, and other programs' SQL, would take what the reserve gives.
        let holder = try mutant("guarded reserve") ? nil : Connection(beside: connection, mode: .write)
        defer { holder?.close() }
        holder?.setBusyTimeout(WALGuard.patience)
        do { try holder?.beginImmediate() } catch {
            // The disk is what the caller hears of.
            guard error.code.primary == .busy else { throw error }
            return false
        }
        guard try reserve.give(forPages: pageCount()) else { return false }
        defer { reserve.takeBack() }
        _ = try walGuard?.checkpointWhileNobodyCommits() ?? connection.checkpoint(.passive)
        return true
    }

    /// Copies the WAL before a close, whose own checkpoint has no reserve, if the disk is nearly full.
    func copyBeforeClose() {
        do {
            guard let reserve, try reserve.isShort(ofPages: pageCount()) else { return }
            _ = try withReserve { try walGuard?.checkpoint() ?? connection.checkpoint(.passive) }
        } catch { upkeepFailed("the WAL stays", error) }
    }

    private func pageCount() throws -> Int {
        try connection.cached("PRAGMA page_count").first { $0.int(0) } ?? 0
    }
}
