internal import Dispatch
internal import SluiceSQLite
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// One copy of a file of queues, made so that it runs at once.
struct BackupCopy: Sendable {
    /// How the source is read.
    let openSource: @Sendable () throws -> FileLook
    let destination: String
    let vfs: String?
    let now: Timestamp
    /// The nonce of the source's store, and its process.
    let store: Int64
    let identity: ProcessIdentity
    /// Pages that are copied between two looks at whether to go on: a few milliseconds.
    var pagesAtATime = 1_024
    /// Called behind each step, for tests.
    var stepped: @Sendable () throws -> Void = {}

    /// What SQLite keeps beside a database; what others have left there would count as the copy's.
    private static let sideFiles = ["-wal", "-shm", "-journal"]

    /// Makes the copy under another name, and gives it its own when it is whole and on the disk.
    ///
    /// - Parameter goOn: Asked between two steps; throws when the copy is to end.
    func make(_ goOn: () throws(SluiceError) -> Void) throws {
        try checkDestination()
        let partial = "\(destination).partial-\(UInt64.random(in: 0...UInt64.max))"
        try createPrivately(partial)
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
            // A link to nowhere counts: the copy would not stand where it leads.
            guard lstat(destination + suffix, &status) == 0 else { continue }
            throw exists(suffix)
        }
    }

    private func exists(_ suffix: String) -> SluiceError {
        SluiceError(
            .destinationExists,
            "\(destination)\(suffix) exists, and is left as it is; give the copy another name"
        )
    }

    private func createPrivately(_ path: String) throws(SluiceError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DatabaseFile.cannotCreate(destination, errno) }
        close(descriptor)
    }

    /// Copies all pages as they are at one moment.
    ///
    /// The snapshot is what keeps writers from having it begin anew; in return the log cannot begin anew
    /// before it ends.
    private func copyPages(from source: Connection, to path: String, _ goOn: () throws -> Void) throws {
        let copy = try Connection(path: path, mode: .write, vfs: vfs)
        defer { copy.close() }
        // What is not whole is thrown away: nothing is to be journalled, nor synced before the end.
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

    /// Takes out of the copy what belongs to processes that use the source, and has it on the disk.
    private func settle(_ path: String) throws {
        let copy = try Connection(path: path, mode: .write, vfs: vfs)
        defer { copy.close() }
        // The index of its log stays in memory: nobody else has it open, and there is no third file.
        for pragma in [
            Pragma("locking_mode", "EXCLUSIVE"), Pragma("journal_mode", "WAL"),
            Pragma("wal_autocheckpoint", 0),
            Pragma("synchronous", 2), Pragma("fullfsync", true), Pragma("checkpoint_fullfsync", true),
        ] {
            try copy.set(pragma)
        }
        let transaction = WriteTransaction(
            connection: copy,
            nonce: 0,
            identity: identity,
            leases: LeaseTimes(),
            clock: SystemClock(),
            writeBehind: WriteBehindLimits()
        )
        try transaction.leaveProcessesBehind(store, now: now)
        try transaction.begin(now: now)
        do {
            try transaction.giveClaimsBack()
            // So that there is something to sync, and with it all pages that were copied.
            try transaction.core.writeBarrier()
            try transaction.commit()
        } catch {
            transaction.rollback()
            throw error
        }
        guard try !copy.checkpoint(.truncate).wasBlocked else {
            throw SluiceError(.inputOutput, "the WAL of the copy could not be checkpointed")
        }
    }

    /// Gives the copy its name, unless somebody has taken it meanwhile, and syncs the directory.
    private func publish(_ partial: String) throws(SluiceError) {
        if link(partial, destination) != 0 {
            if errno == EEXIST { throw exists("") }
            // Some file systems have no second names.
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
    /// Forgets the processes that have the source open, what was logged for them and the gates that they
    /// opened for their own time.
    ///
    /// What those ran that have died is suspect in the copy too: it may have been the cause (G7). Before the
    /// transaction begins, so that this one is nobody's.
    ///
    /// - Parameter store: The nonce of the source's store.
    fileprivate func leaveProcessesBehind(_ store: Int64, now: Timestamp) throws {
        try connection.immediate {
            try registry.suspectClaims(
                butOf: RunnerRow.living(connection, own: store, seenFrom: core.identity, at: now)
            )
            for table in ["sluice_runner_rows", "sluice_checkpointer", "sluice_changes"] {
                try connection.prepare("DELETE FROM \(table)").run()
            }
            try connection.prepare("DELETE FROM sluice_gate_rows WHERE owner IS NOT NULL").run()
        }
    }

    /// Has what ran wait again, with the attempt given back, and does what was asked for while it ran.
    fileprivate func giveClaimsBack() throws(SQLiteError) {
        let runs = try connection.cached("SELECT queue_id, slot, action_id, claim FROM sluice_claim_rows").all
        {
            Receipt(
                action: ActionID(rawValue: $0.int64(2)),
                claim: $0.int64(3),
                queue: QueueID(rawValue: $0.int64(0)),
                slot: $0.int(1)
            )
        }
        try connection.cached("DELETE FROM sluice_claim_rows").run()
        for run in runs { try settlements.endOrphan(run) }
    }
}
