internal import SluiceSQLite

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Makes one copy of a file of queues, ready to be opened and run.
struct BackupCopy: Sendable {
    let openSource: @Sendable () throws -> FileLook
    let destination: String
    let vfs: String?
    let now: Timestamp
    /// The nonce of the source's store.
    let store: Int64
    let identity: ProcessIdentity
    /// Pages copied between two calls of `goOn`: a few milliseconds.
    var pagesAtATime = 1_024
    /// Called after each step, for tests.
    var stepped: @Sendable () throws -> Void = {}
    /// Suffixes of SQLite's side files; files left there by others would count as the copy's.
    private static let sideFiles = ["-wal", "-shm", "-journal"]

    /// Makes the copy under another name, and renames it when complete; `goOn` throws to end it early.
    func make(_ goOn: () throws(SluiceError) -> Void) throws {
        try checkDestination()
        let partial = "\(destination).partial-\(UInt64.random(in: 0...UInt64.max))"
        let descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DatabaseFile.cannotCreate(destination, errno) }
        close(descriptor)
        defer { for suffix in [""] + Self.sideFiles { unlink(partial + suffix) } }
        let source = try openSource()
        defer { source.close() }
        try copyPages(from: source.connection, to: partial, goOn)
        guard source.isCurrent else {
            throw SluiceError(.databaseLocked, "the file was changed while it was copied: try again")
        }
        try goOn()
        try settle(partial)
        try publish(partial)
    }

    private func checkDestination() throws(SluiceError) {
        for suffix in [""] + Self.sideFiles {
            var status = stat()
            // A dangling link counts: the copy would not be where the link leads.
            if lstat(destination + suffix, &status) == 0 { throw exists(suffix) }
        }
    }

    private func exists(_ suffix: String) -> SluiceError {
        let text = "\(destination)\(suffix) exists, and is left as it is; give the copy another name"
        return SluiceError(.destinationExists, text)
    }

    /// Copies one snapshot: writers do not restart the copy, but the WAL cannot restart before it ends.
    private func copyPages(from source: Connection, to path: String, _ goOn: () throws -> Void) throws {
        let copy = try Connection(path: path, mode: .write, vfs: vfs)
        defer { copy.close() }
        // An incomplete copy is deleted: it needs no journal, and no sync before the end.
        try copy.set(Pragma("locking_mode", "EXCLUSIVE"))
        try copy.set(Pragma("journal_mode", "OFF"))
        try copy.set(Pragma("synchronous", 0))
        try source.snapshot {
            // The first read begins the snapshot.
            _ = try source.pragma("schema_version")
            try source.copy(to: copy, pagesAtATime: pagesAtATime) { _ in
                try stepped()
                try goOn()
            }
        }
    }

    /// Deletes the rows of processes using the source from the copy, and syncs it.
    private func settle(_ path: String) throws {
        let copy = try Connection(path: path, mode: .write, vfs: vfs)
        defer { copy.close() }
        // The index of its WAL stays in memory: no other process has it open, and there is no third file.
        for pragma in [
            Pragma("locking_mode", "EXCLUSIVE"), Pragma("journal_mode", "WAL"),
            Pragma("wal_autocheckpoint", 0), Pragma("synchronous", 2), Pragma("fullfsync", true),
            Pragma("checkpoint_fullfsync", true),
        ] { try copy.set(pragma) }
        let core = TransactionCore(
            connection: copy,
            nonce: 0,
            identity: identity,
            leases: LeaseTimes(),
            clock: SystemClock(),
            writeBehind: WriteBehindLimits()
        )
        let transaction = WriteTransaction(core)
        try transaction.leaveProcessesBehind(store, now: now)
        try transaction.begin(now: now)
        do {
            try transaction.giveClaimsBack()
            // So that there is something to sync, and with it all copied pages.
            try core.writeBarrier()
            try transaction.commit()
        } catch {
            transaction.rollback()
            throw error
        }
        guard try !copy.checkpoint(.truncate).wasBlocked else {
            throw SluiceError(.inputOutput, "the WAL of the copy could not be checkpointed")
        }
    }

    /// Gives the copy its name, unless that exists now, and syncs the directory.
    private func publish(_ partial: String) throws(SluiceError) {
        if link(partial, destination) != 0 {
            if errno == EEXIST { throw exists("") }
            // Some file systems have no hard links.
            try checkDestination()
            guard rename(partial, destination) == 0 else {
                throw DatabaseFile.cannotCreate(destination, errno)
            }
        }
        unlink(partial)
        let directory = open(MountFacts.directory(of: destination), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        defer { close(directory) }
        guard fsync(directory) == 0 || errno == EINVAL else {
            unlink(destination)
            throw SluiceError(.inputOutput, "the directory of \(destination) could not be synced")
        }
    }
}

extension WriteTransaction {
    /// Deletes the source's processes, their changes and temporary gates, before a transaction begins.
    ///
    /// Actions of processes that have died are suspects in the copy too, since they may be the cause (G7).
    fileprivate func leaveProcessesBehind(_ store: Int64, now: Timestamp) throws {
        try connection.immediate {
            let living = try RunnerRow.living(connection, own: store, seenFrom: core.identity, at: now)
            try registry.suspectClaims(butOf: living)
            for table in ["sluice_runner_rows", "sluice_checkpointer", "sluice_changes"] {
                try connection.prepare("DELETE FROM \(table)").run()
            }
            try connection.prepare("DELETE FROM sluice_gate_rows WHERE owner IS NOT NULL").run()
        }
    }

    /// Returns running actions to their queues, unspent, and applies requests made during their runs.
    fileprivate func giveClaimsBack() throws(SQLiteError) {
        let runs = try connection.cached("SELECT queue_id, slot, action_id, claim FROM sluice_claim_rows")
            .all { Receipt($0) }
        try connection.cached("DELETE FROM sluice_claim_rows").run()
        for run in runs { try settlements.endOrphan(run) }
    }
}
