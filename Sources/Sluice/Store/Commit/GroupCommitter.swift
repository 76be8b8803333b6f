internal import Logging
internal import SluiceSQLite

/// Commits groups of writes with the syncs that they need, and checkpoints; confined to the writer's leader.
final class GroupCommitter {
    let transaction: WriteTransaction
    private let turns: TurnCounter
    private let registration: OpenFiles.Registration?
    let check: FileCheck
    /// `nil` if SQLite does not have the WAL-reset bug, and in memory.
    let walGuard: WALGuard?
    let durability: Durability
    private let lockTimeout: Duration
    private let clock: any BrokerClock
    let place: any WorkPlace
    private let onCommit: @Sendable (CommitReport) -> Void
    let logger: Logger
    let trouble: WriterTrouble
    /// When the file's path was last checked, in microseconds.
    private var lastLook = Int64.min
    private var isSynchronousFull = true
    /// Whether the value of `synchronous` is unknown.
    var mustSetSynchronous = false
    /// Frames of the WAL at the last sync, until it restarts.
    private var syncedFrames = 0
    /// The most frames that a commit syncs with the write lock held, and those of its own: 1 MB.
    private static let lockedSyncLimit = 256
    var clearing: WALClearing
    var checkpoints = CheckpointPolicy()
    /// `nil` in memory.
    private(set) var reserve: SpaceReserve?
    var isAtUpkeep = false
    var space = SpaceUpkeep.none
    /// The duration of the last `COMMIT` on the writer's own thread, its sync included.
    private(set) var lastCommit: Duration = .zero
    /// Whether the connection is closed, and another committer is to continue.
    private(set) var isSuspended = false

    /// The state of cutting off free pages.
    enum SpaceUpkeep {
        case none
        /// A checkpoint was made: enough was written for a check.
        case isDue
        case isUnderWay
    }

    private static let lookInterval = UInt64(FileCheck.interval / .microseconds(1))
    /// The wait after which a transaction of this process is reported as the cause.
    private static let ownLockWait: Duration = .seconds(1)
    /// Other processes that run the queues commit often, and such short waits are not reported.
    private static let briefWait: Duration = .milliseconds(5)
    private static let ownLock = """
        a write waits for a transaction of this process: if the call is inside it, end it \
        first, or call enqueue(_:in:)
        """

    var connection: Connection { transaction.core.connection }

    init(
        transaction: WriteTransaction,
        turns: TurnCounter,
        registration: OpenFiles.Registration?,
        check: FileCheck,
        walGuard: WALGuard?,
        hadWAL: Bool,
        options: BrokerOptions,
        onCommit: @escaping @Sendable (CommitReport) -> Void
    ) {
        (self.transaction, self.turns, self.registration) = (transaction, turns, registration)
        (self.check, self.walGuard, self.onCommit) = (check, walGuard, onCommit)
        (durability, lockTimeout) = (options.file.durability, options.file.lockTimeout)
        (clock, place, logger) = (options.clock, options.engine.place, options.logger)
        trouble = WriterTrouble()
        clearing = WALClearing(isInherited: hadWAL)
        reserve = connection.walPath.map {
            SpaceReserve(connection.path, walPath: $0, freeSpace: options.file.freeSpace)
        }
    }

    init(continuing other: GroupCommitter, on connection: Connection, hadWAL: Bool) {
        transaction = WriteTransaction(continuing: other.transaction, on: connection)
        (turns, registration, check, trouble) = (other.turns, other.registration, other.check, other.trouble)
        (durability, lockTimeout) = (other.durability, other.lockTimeout)
        (clock, place) = (other.clock, other.place)
        (onCommit, logger, clearing) = (other.onCommit, other.logger, other.clearing)
        clearing.isInherited = hadWAL
        (walGuard, reserve) = (other.walGuard?.continued(on: connection), other.reserve)
        registration?.wake()
        do { if reserve?.walLimit != nil { try limitWAL() } } catch {
            upkeepFailed("the WAL has no limit of its own", error)
        }
    }

    /// Commits a group and reports to each member; `false` if it was not to wait for the lock, and had to.
    func commit(_ group: [Write], waitsForLock: Bool) -> Bool {
        guard !group.isEmpty else { return true }
        let core = transaction.core
        if let error = refusal(clock.now) {
            fail(group, error)
            return true
        }
        // Readers may be in the way.
        if clearing.isDue, !waitsForLock { return false }
        let isSynced = group.contains { durability.syncs($0.sync) } && !mutant("sync")
        do { if isSynced { try syncAhead() } } catch {
            if !mutant("log after a failed sync ahead") { syncFailed() }
            isolate(group, after: SluiceError(wrapping: error, doing: "syncing"))
            return true
        }
        do {
            try prepare(isSynced: isSynced)
            try begin(waitsForLock: waitsForLock)
            try walGuard?.begun(othersCommitted: core.hasReadForeignCommits)
        } catch {
            let isLocked = isLocked(error)
            if !isLocked { rollback() }
            if isLocked && !waitsForLock { return false }
            let failure = failureToBegin(error)
            fail(group, failure)
            if failure.isOfFile { check.fail(failure) }
            return true
        }
        do { for write in group { try write.perform(in: transaction) } } catch {
            rollback()
            isolate(group, after: SluiceError(wrapping: error, doing: "writing"))
            return true
        }
        turns.add()
        do {
            try readyToCommit(core, isSynced: isSynced)
            // A caller that commits its own write gathers no others, and needs no time.
            let start = waitsForLock ? place.now : .zero
            try transaction.commit()
            if waitsForLock { lastCommit = place.now - start }
            let frames = connection.walFrames
            if isSynchronousFull || frames < syncedFrames { syncedFrames = frames }
            checkpoints.committed(isSynced: isSynchronousFull)
        } catch {
            rollback()
            isolate(group, after: resolve(error))
            return true
        }
        // The next `rest` checks again.
        do { try walGuard?.committed() } catch { upkeepFailed("the WAL's pin stays", error) }
        watchSpace()
        let dueAt = transaction.schedule.takeDueTime()
        let report = core.takeReport(isSynced: isSynchronousFull, dueAt: dueAt)
        if !report.isEmpty { onCommit(report) }
        core.settledActions.tell()
        for write in group { write.complete() }
        return true
    }

    /// Records a failure that only delays the upkeep of the WAL.
    func upkeepFailed(_ message: Logger.Message, _ error: any Error) {
        // The check for other checkpoints turns syncs off, and may have failed in between.
        mustSetSynchronous = true
        logger.debug(message, metadata: ["error": "\(error)"])
    }

    private func rollback() {
        transaction.rollback()
        walGuard?.rolledBack()
    }

    /// Returns why nothing may be committed; checks the file's path at intervals, or if the clock jumps.
    private func refusal(_ now: Timestamp) -> SluiceError? {
        if let error = check.refusal { return error }
        if isSuspended { return SluiceError(.suspended, "the file could not be opened again") }
        let age = now.microseconds.subtractingReportingOverflow(lastLook)
        if !age.overflow, age.partialValue.magnitude < Self.lookInterval { return nil }
        lastLook = now.microseconds
        do { try check.look() } catch { return error }
        return nil
    }

    /// Closes the connection for a while, without a checkpoint, which would take time under a lock.
    func suspend() {
        guard !isSuspended else { return }
        if !transaction.core.others.isEmpty {
            // It does not wait for the lock: if that is taken, the others poll when the lease ends.
            let look = Write(sync: .later, body: { try $0.core.notifyRunners(.look) }, completion: { _ in })
            _ = commit([look], waitsForLock: false)
        }
        isSuspended = true
        if !connection.isInMemory { transaction.fileMark = try? FileMark(connection) }
        walGuard?.close(isWritable: check.refusal == nil)
        connection.setCheckpointOnClose(false)
        connection.close()
        registration?.rest()
    }

    /// Closes the connection; the WAL of a moved file is left, since the one at the path may be another's.
    func close() {
        if !isSuspended {
            if check.mayCheckpointWAL { copyBeforeClose() }
            walGuard?.close(isWritable: check.refusal == nil)
        }
        if !isSuspended, !check.mayCheckpointWAL { connection.setCheckpointOnClose(false) }
        check.disconnects()
        if let registration { registration.end { connection.close() } } else { connection.close() }
        reserve?.closed()
    }

    /// Begins a transaction; the first wait is brief, to notice when another connection has the lock.
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
        do { try waitForLock(first) } catch {
            guard first < left, isLocked(error) else { throw error }
            // It is unknown whether it is the caller's own transaction or one that will end.
            if isLockOwn { logger.warning("\(Self.ownLock)") }
            try waitForLock(left - first)
        }
        transaction.core.waited = transaction.core.uptime - start
        trouble.hasLock()
    }

    /// Returns whether another connection has the write lock, so that nothing has begun.
    private func isLocked(_ error: any Error) -> Bool {
        (error as? SQLiteError)?.code.primary == .busy && !connection.isInTransaction
    }

    /// Returns why nothing has begun: a call inside a transaction of this process waits for its own caller.
    private func failureToBegin(_ error: any Error) -> SluiceError {
        let failure = SluiceError(wrapping: error, doing: "beginning a write")
        guard failure.code == .databaseLocked, isLockOwn else { return failure }
        let text =
            "beginning a write: a transaction of this process holds the write lock: end it first, or inside "
            + "it call enqueue(_:in:)"
        return SluiceError(.databaseLocked, text, sqliteCode: failure.sqliteCode)
    }

    /// Whether a connection of this process has the write lock, as far as the system shows.
    private var isLockOwn: Bool {
        connection.walPath.map { LockTable.read(walPath: $0).isWriteLockOwn } ?? false
    }

    private func waitForLock(_ timeout: Duration) throws {
        var left = timeout
        while let walGuard, walGuard.isPinned, left > WALGuard.lockPatience {
            left -= WALGuard.lockPatience
            connection.setBusyTimeout(WALGuard.lockPatience)
            do { return try transaction.begin() } catch { guard isLocked(error) else { throw error } }
            try checkingOthers(walGuard.deferAfterAttempt)
        }
        connection.setBusyTimeout(left)
        try transaction.begin()
    }

    private func prepare(isSynced: Bool) throws {
        try connection.endLeftover()
        try setSynchronous(isFull: isSynced)
        if clearing.isDue, try !clearWAL(within: lockTimeout) { throw WALClearing.failure }
        if isSynced, clearing.isInherited { try clearInheritedWAL() }
    }

    /// Sets `synchronous` to what it should be, after a check for other checkpoints may have left it off.
    func restoreSynchronous() throws {
        if mustSetSynchronous { try setSynchronous(isFull: isSynchronousFull) }
    }

    /// Sets the level of `synchronous`, if it is another one or unknown.
    private func setSynchronous(isFull isSynced: Bool) throws {
        guard isSynced != isSynchronousFull || mustSetSynchronous, !connection.isInMemory else { return }
        // Setting it may succeed while reading it back fails.
        mustSetSynchronous = true
        try connection.set(Pragma("synchronous", isSynced ? 2 : 1))
        isSynchronousFull = isSynced
        mustSetSynchronous = false
    }

    /// Syncs what earlier commits have left, while no lock is held: commits of others wait for the rest.
    private func syncAhead() throws {
        // If a sync has failed, the WAL is copied and truncated first.
        guard !clearing.isDue, connection.walFrames - syncedFrames > Self.lockedSyncLimit else { return }
        try connection.syncWAL()
        syncedFrames = connection.walFrames
    }

    private func readyToCommit(_ core: TransactionCore, isSynced: Bool) throws {
        // A transaction that changes nothing must not fail for want of space.
        if core.hasChanges, try walGuard?.willCommit(besideOthers: !core.others.isEmpty) == true {
            try core.notifyRunners(.runner)
        }
        // A commit without changes syncs nothing, and what an enqueue has found must be on the disk.
        if isSynced, core.hasFoundStored, !core.hasChanges { try connection.syncWAL() }
        try ensureSpace()
    }

    /// Commits each member of a failed group in a transaction of its own; a lone member gets the error.
    private func isolate(_ group: [Write], after error: SluiceError) {
        guard group.count > 1, error.code != .unknownCommit, !mutant("fault of one") else {
            return fail(group, error)
        }
        for (number, write) in group.enumerated() {
            // Each would wait for readers as long as the first has.
            if number > 0, clearing.isDue {
                fail([write], WALClearing.failure)
            } else {
                _ = commit([write], waitsForLock: true)
            }
        }
    }

    private func fail(_ group: [Write], _ error: SluiceError) {
        // A copied WAL needs no more space, so actions settle on a full disk. In upkeep it would not end.
        if error.code == .diskFull, !isAtUpkeep { trouble.askForCheckpoint() }
        for write in group { write.complete(failing: error) }
    }

    /// Resolves the result of a commit that failed.
    ///
    /// It is undone in memory, but a recovery could find its pages in the WAL, until that is truncated.
    private func resolve(_ error: any Error) -> SluiceError {
        let failure = SluiceError(wrapping: error, doing: "committing")
        // Memory may run out after the WAL was written.
        guard failure.code == .inputOutput || failure.code == .outOfMemory else { return failure }
        clearing.isDue = !mutant("log after a failed sync")
        do { try prepare(isSynced: true) } catch {
            transaction.resultIsUnknown()
            let text = "a commit failed and the WAL could not be cleared: the write may or may not be stored"
            return SluiceError(.unknownCommit, text, sqliteCode: failure.sqliteCode)
        }
        return failure
    }
}
