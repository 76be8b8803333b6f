internal import Logging
internal import SluiceSQLite

/// Commits groups of writes on the writer's connection, syncs what is owed, and checkpoints.
///
/// Not thread-safe: the writer's leader alone calls it.
final class GroupCommitter {
    let transaction: WriteTransaction
    private let turns: TurnCounter
    var connection: Connection { transaction.core.connection }
    private let registration: OpenFiles.Registration?
    let check: FileCheck
    /// When the file's path was last looked at, in microseconds.
    private var lastLook = Int64.min
    /// `nil` where SQLite does not have the WAL-reset bug, and in memory.
    let walGuard: WALGuard?
    let durability: Durability
    private let lockTimeout: Duration
    /// How long what this process has itself is waited for.
    private let clock: any BrokerClock
    private let onCommit: @Sendable (CommitReport) -> Void
    private var isSynchronousFull = true
    /// Nobody knows how `synchronous` stands.
    var mustSetSynchronous = false
    /// A sync failed: nothing may be acknowledged until the log has been copied and cut to nothing.
    private var mustTruncate = false
    var checkpoints = CheckpointPolicy()
    /// What is being committed is upkeep.
    var isAtUpkeep = false
    var space = SpaceUpkeep.none
    /// How long the last `COMMIT` took, its sync included.
    private(set) var lastCommit: Duration = .zero
    let logger: Logger
    let trouble: WriterTrouble
    /// The connection is closed, and another committer is to go on.
    private(set) var isSuspended = false

    /// What is known of the file's free pages.
    enum SpaceUpkeep {
        /// Nothing new since they were looked at.
        case none
        /// A checkpoint was made: enough has been written for a look.
        case isDue
        /// Pages are being given back.
        case isUnderWay
    }

    init(
        transaction: WriteTransaction,
        turns: TurnCounter,
        registration: OpenFiles.Registration?,
        check: FileCheck,
        walGuard: WALGuard?,
        options: BrokerOptions,
        onCommit: @escaping @Sendable (CommitReport) -> Void
    ) {
        self.transaction = transaction
        self.turns = turns
        self.registration = registration
        self.check = check
        self.walGuard = walGuard
        trouble = WriterTrouble()
        durability = options.durability
        lockTimeout = options.lockTimeout
        clock = options.clock
        logger = options.logger
        self.onCommit = onCommit
    }

    /// Goes on where a suspended one has stopped, on a connection that has been opened since.
    init(continuing other: GroupCommitter, on connection: Connection) {
        transaction = WriteTransaction(continuing: other.transaction, on: connection)
        turns = other.turns
        registration = other.registration
        check = other.check
        trouble = other.trouble
        durability = other.durability
        lockTimeout = other.lockTimeout
        clock = other.clock
        onCommit = other.onCommit
        logger = other.logger
        mustTruncate = other.mustTruncate
        walGuard = other.walGuard?.continued(on: connection)
        registration?.wake()
    }

    /// Commits a group and tells each member its result.
    ///
    /// - Returns: `false` when the write lock was taken and the call was not to wait: nothing has happened.
    func commit(_ group: [any PendingWrite], waitsForLock: Bool) -> Bool {
        guard !group.isEmpty else { return true }
        if let error = refusal(clock.now) {
            fail(group, error)
            return true
        }
        do {
            try prepare(isSynced: group.contains { durability.syncs($0.sync) })
            try begin(waitsForLock: waitsForLock)
            try walGuard?.begun(othersCommitted: transaction.core.hasTakenIn)
        } catch {
            let isLocked = isLocked(error)
            if !isLocked { rollback() }
            if isLocked && !waitsForLock { return false }
            let failure = failureToBegin(error)
            fail(group, failure)
            if failure.isOfFile { check.fail(failure) }
            return true
        }
        do {
            for write in group { try write.perform(in: transaction) }
        } catch {
            rollback()
            isolate(group, after: SluiceError(wrapping: error, doing: "writing"))
            return true
        }
        turns.add()
        do {
            try writeLeadership()
            let start = ContinuousClock.now
            try transaction.commit()
            lastCommit = start.duration(to: .now)
            checkpoints.committed(isSynced: isSynchronousFull)
        } catch {
            rollback()
            isolate(group, after: resolve(error))
            return true
        }
        yieldPin()
        let report = transaction.takeReport(isSynced: isSynchronousFull)
        if !report.isEmpty { onCommit(report) }
        transaction.core.settledActions.tell()
        for write in group { write.complete() }
        return true
    }

    /// Writes into the open transaction that this process becomes the one that copies the log, and tells the
    /// others.
    private func writeLeadership() throws(SQLiteError) {
        // What changes nothing must not fail for want of room.
        guard transaction.core.hasChanges else { return }
        let isNew = try walGuard?.willCommit(besideOthers: !transaction.core.others.isEmpty) ?? false
        if isNew { try transaction.core.tellRunners("runner") }
    }

    private func yieldPin() {
        do {
            try walGuard?.committed()
        } catch {
            // It is asked whether a checkpoint is under way with syncs turned off. The next rest asks again.
            mustSetSynchronous = true
            logger.debug("the WAL's pin stays", metadata: ["error": "\(error)"])
        }
    }

    private func rollback() {
        transaction.rollback()
        walGuard?.rolledBack()
    }

    /// Why nothing may be committed; looks at the file's path from time to time.
    ///
    /// By the wall clock: a jump of it brings a look, or delays one by less than the interval.
    private func refusal(_ now: Timestamp) -> SluiceError? {
        if let error = check.refusal { return error }
        if isSuspended { return SluiceError(.suspended, "the file could not be opened again") }
        let age = now.microseconds.subtractingReportingOverflow(lastLook)
        if !age.overflow, age.partialValue.magnitude < Self.lookInterval { return nil }
        lastLook = now.microseconds
        do {
            try check.look()
            return nil
        } catch {
            return error
        }
    }

    /// ``FileCheck/interval`` in microseconds.
    private static let lookInterval = UInt64(FileCheck.interval / .microseconds(1))

    /// Closes the connection for a while; the file stays this store's.
    ///
    /// The log is left to the next opening: to copy it now would take time, under a lock.
    func suspend() {
        guard !isSuspended else { return }
        leaveQueuesToOthers()
        isSuspended = true
        transaction.rememberFile()
        walGuard?.close(isWritable: check.refusal == nil)
        connection.setCheckpointOnClose(false)
        connection.close()
        registration?.rest()
    }

    /// Has other processes look for what waits.
    ///
    /// Behind another connection's lock they are not told: a suspension waits for none, and they look when
    /// the lease is over.
    private func leaveQueuesToOthers() {
        guard !transaction.core.others.isEmpty else { return }
        let look = Write(sync: .later, body: { try $0.core.tellRunners("look") }, completion: { _ in })
        _ = commit([look], waitsForLock: false)
    }

    /// Closes the connection; no group can follow.
    ///
    /// A file that is no longer at its path is left as it is: what stands beside the path now may be the log
    /// of another.
    func close() {
        if !isSuspended { walGuard?.close(isWritable: check.refusal == nil) }
        if !isSuspended, !check.mayCheckpointWAL { connection.setCheckpointOnClose(false) }
        check.disconnects()
        if let registration { registration.end { connection.close() } } else { connection.close() }
    }

    /// Begins, and waits only briefly at first, so that it is known when another connection is in the way.
    private func begin(waitsForLock: Bool) throws {
        let brief = waitsForLock ? min(lockTimeout, Self.briefWait) : .zero
        connection.setBusyTimeout(brief)
        do {
            try transaction.begin()
            return trouble.hasLock()
        } catch {
            guard waitsForLock, isLocked(error) else { throw error }
        }
        trouble.waits(since: clock.now)
        defer { trouble.gaveUp() }
        let start = clock.uptime
        let left = lockTimeout - brief
        let first = min(left, Self.ownLockWait)
        do {
            try waitForLock(first)
        } catch {
            guard first < left, isLocked(error) else { throw error }
            // Which of the two it is nobody can tell: the caller's own transaction, or one that will end.
            if isLockOwn {
                logger.warning(
                    """
                    a write waits for a transaction of this process: if the call stands inside it, end it \
                    first, or call enqueue(_:in:)
                    """
                )
            }
            try waitForLock(left - first)
        }
        transaction.core.hasWaited(since: start)
        trouble.hasLock()
    }

    /// Whether another connection has the write lock, so that nothing has begun.
    private func isLocked(_ error: any Error) -> Bool {
        (error as? SQLiteError)?.code.primary == .busy && !connection.isInTransaction
    }

    /// Why nothing has begun: a call inside a transaction of this process waits for its own caller.
    private func failureToBegin(_ error: any Error) -> SluiceError {
        let failure = SluiceError(wrapping: error, doing: "beginning a write")
        guard failure.code == .databaseLocked, isLockOwn else { return failure }
        return SluiceError(
            .databaseLocked,
            "beginning a write: a transaction of this process holds the write lock: end it first, or inside "
                + "it call enqueue(_:in:)",
            sqliteCode: failure.sqliteCode
        )
    }

    /// Whether a connection of this process has the write lock, as far as the system tells.
    private var isLockOwn: Bool {
        connection.walPath.map { LockTable.read(walPath: $0).isWriteLockOwn } ?? false
    }

    /// After what time it is told that a transaction of this process is in the way.
    private static let ownLockWait: Duration = .seconds(1)
    /// Other processes that run the queues commit all the time, and are in nobody's way.
    private static let briefWait: Duration = .milliseconds(5)

    private func waitForLock(_ timeout: Duration) throws {
        var left = timeout
        while let walGuard, walGuard.isPinned, left > WALGuard.lockPatience {
            left -= WALGuard.lockPatience
            connection.setBusyTimeout(WALGuard.lockPatience)
            do {
                return try transaction.begin()
            } catch {
                guard isLocked(error) else { throw error }
            }
            do {
                try walGuard.giveWay()
            } catch {
                mustSetSynchronous = true
                throw error
            }
        }
        connection.setBusyTimeout(left)
        try transaction.begin()
    }

    private func prepare(isSynced: Bool) throws {
        try connection.endLeftover()
        if mustTruncate {
            connection.setBusyTimeout(lockTimeout)
            let result = try walGuard?.truncate(within: lockTimeout) ?? connection.checkpoint(.truncate)
            guard !result.wasBlocked else {
                throw SluiceError(.inputOutput, "a sync failed and the WAL could not be checkpointed since")
            }
            // The checkpoint has synced the pages of the commit that failed, before it cut them off: were the
            // cut lost, as when the power goes, they would be found.
            if !mutant("synced cut") { try connection.syncWAL() }
            mustTruncate = false
        }
        let isSynced = isSynced && !mutant("sync")
        guard isSynced != isSynchronousFull || mustSetSynchronous, !connection.isInMemory else { return }
        // It may be set and then not be read back.
        mustSetSynchronous = true
        try connection.set(Pragma("synchronous", isSynced ? 2 : 1))
        isSynchronousFull = isSynced
        mustSetSynchronous = false
    }

    /// Gives each member of a group that failed a transaction of its own; a lone member gets the error.
    private func isolate(_ group: [any PendingWrite], after error: SluiceError) {
        guard group.count > 1, error.code != .unknownCommit, !mutant("fault of one") else {
            return fail(group, error)
        }
        for write in group { _ = commit([write], waitsForLock: true) }
    }

    private func fail(_ group: [any PendingWrite], _ error: SluiceError) {
        // A log that has been copied takes no more room: what is stored can be settled on a full disk. Not
        // for what follows a checkpoint itself, which would have no end.
        if error.code == .diskFull, !isAtUpkeep { trouble.askForCheckpoint() }
        for write in group { write.complete(failing: error) }
    }

    /// Finds out what became of a commit that failed.
    ///
    /// A commit whose write or sync failed, or that had no memory left behind them, has been undone in
    /// memory, but its pages may stand in the log, and a recovery after a crash could find them whole. A
    /// checkpoint that cuts the log removes them: then nothing is stored, for certain.
    private func resolve(_ error: any Error) -> SluiceError {
        let failure = SluiceError(wrapping: error, doing: "committing")
        guard failure.code == .inputOutput || failure.code == .outOfMemory else { return failure }
        mustTruncate = !mutant("log after a failed sync")
        do {
            try prepare(isSynced: true)
            return failure
        } catch {
            return SluiceError(
                .unknownCommit,
                "a commit failed and the WAL could not be cleared: the write may or may not be stored",
                sqliteCode: failure.sqliteCode
            )
        }
    }
}
