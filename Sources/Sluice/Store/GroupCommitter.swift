internal import Logging
internal import SQLite

/// Commits groups of writes on the writer's connection, syncs what is owed, and checkpoints.
///
/// Not thread-safe: the writer's leader alone calls it.
final class GroupCommitter {
    let transaction: WriteTransaction
    private let turns: TurnCounter
    private var connection: Connection { transaction.connection }
    private let registration: OpenFiles.Registration?
    private let check: FileCheck
    /// When the file's path was last looked at, in microseconds.
    private var lastLook = Int64.min
    let durability: Durability
    private let lockTimeout: Duration
    private let clock: any BrokerClock
    private let onCommit: @Sendable (CommitReport) -> Void
    private var isSynchronousFull = true
    /// A sync failed: nothing may be acknowledged until the log has been copied and cut to nothing.
    private var mustTruncate = false
    private var checkpoints = CheckpointPolicy()
    private var space = SpaceUpkeep.none
    /// How long the last `COMMIT` took, its sync included.
    private(set) var lastCommit: Duration = .zero
    private let logger: Logger
    let trouble: WriterTrouble
    /// The connection is closed, and another committer is to go on.
    private(set) var isSuspended = false

    /// What is known of the file's free pages.
    private enum SpaceUpkeep {
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
        durability: Durability,
        lockTimeout: Duration,
        clock: any BrokerClock,
        logger: Logger,
        onCommit: @escaping @Sendable (CommitReport) -> Void
    ) {
        self.transaction = transaction
        self.turns = turns
        self.registration = registration
        self.check = check
        trouble = WriterTrouble()
        self.durability = durability
        self.lockTimeout = lockTimeout
        self.clock = clock
        self.logger = logger
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
    }

    /// Commits a group and tells each member its result.
    ///
    /// - Returns: `false` when the write lock was taken and the call was not to wait: nothing has happened.
    func commit(_ group: [any PendingWrite], waitsForLock: Bool) -> Bool {
        guard !group.isEmpty else { return true }
        let now = clock.now
        if let error = refusal(now) {
            fail(group, error)
            return true
        }
        do {
            try prepare(isSynced: group.contains { durability.syncs($0.sync) })
            try begin(now: now, waitsForLock: waitsForLock)
        } catch {
            let isLocked = isLocked(error)
            if !isLocked { transaction.rollback() }
            if isLocked && !waitsForLock { return false }
            let failure = SluiceError(wrapping: error, doing: "beginning a write")
            fail(group, failure)
            if failure.code == .newerSchema { check.fail(failure) }
            return true
        }
        do {
            for write in group { try write.perform(in: transaction) }
        } catch {
            transaction.rollback()
            isolate(group, after: SluiceError(wrapping: error, doing: "writing"))
            return true
        }
        turns.add()
        do {
            let start = ContinuousClock.now
            try transaction.commit()
            lastCommit = start.duration(to: .now)
            checkpoints.committed(isSynced: isSynchronousFull)
        } catch {
            transaction.rollback()
            isolate(group, after: resolve(error))
            return true
        }
        let report = transaction.takeReport(isSynced: isSynchronousFull)
        if !report.isEmpty { onCommit(report) }
        transaction.settledActions.tell()
        for write in group { write.complete() }
        return true
    }

    /// Why nothing may be committed; looks at the file's path from time to time.
    ///
    /// By the wall clock, which is read for each group anyway: a jump brings a look, or delays one by less
    /// than the interval.
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
        isSuspended = true
        transaction.rememberFile()
        transaction.links = LinkMemory()
        connection.setCheckpointOnClose(false)
        connection.close()
    }

    /// Closes the connection; no group can follow.
    ///
    /// A file that is no longer at its path is left as it is: what stands beside the path now may be the log
    /// of another.
    func close() {
        // A statement that is left would keep the file open behind the registration's end.
        transaction.links = LinkMemory()
        if !isSuspended, check.refusal != nil { connection.setCheckpointOnClose(false) }
        if let registration { registration.end { connection.close() } } else { connection.close() }
    }

    /// Begins, and waits only briefly at first, so that it is known when another connection is in the way.
    private func begin(now: Timestamp, waitsForLock: Bool) throws {
        let brief = waitsForLock ? min(lockTimeout, Self.briefWait) : .zero
        connection.setBusyTimeout(brief)
        do {
            try transaction.begin(now: now)
            return trouble.hasLock()
        } catch {
            guard waitsForLock, isLocked(error) else { throw error }
        }
        trouble.waits(since: clock.now)
        defer { trouble.gaveUp() }
        connection.setBusyTimeout(lockTimeout - brief)
        try transaction.begin(now: clock.now)
        trouble.hasLock()
    }

    /// Whether another connection has the write lock, so that nothing has begun.
    private func isLocked(_ error: any Error) -> Bool {
        (error as? SQLiteError)?.code.primary == .busy && !connection.isInTransaction
    }

    /// Other processes that run the queues commit all the time, and are in nobody's way.
    private static let briefWait: Duration = .milliseconds(5)

    private func prepare(isSynced: Bool) throws {
        if mustTruncate {
            connection.setBusyTimeout(lockTimeout)
            guard try !connection.checkpoint(.truncate).wasBlocked else {
                throw SluiceError(.inputOutput, "a sync failed and the log could not be copied since")
            }
            mustTruncate = false
        }
        guard isSynced != isSynchronousFull, !connection.isInMemory else { return }
        try connection.set(Pragma("synchronous", isSynced ? 2 : 1))
        isSynchronousFull = isSynced
    }

    /// Gives each member of a group that failed a transaction of its own; a lone member gets the error.
    private func isolate(_ group: [any PendingWrite], after error: SluiceError) {
        guard group.count > 1, error.code != .unknownCommit else { return fail(group, error) }
        for write in group { _ = commit([write], waitsForLock: true) }
    }

    private func fail(_ group: [any PendingWrite], _ error: SluiceError) {
        for write in group { write.complete(failing: error) }
    }

    /// Finds out what became of a commit that failed.
    ///
    /// A commit whose write or sync failed has been undone in memory, but its pages may stand in the log, and
    /// a recovery after a crash could find them whole. A checkpoint that cuts the log removes them: then
    /// nothing is stored, for certain.
    private func resolve(_ error: any Error) -> SluiceError {
        let failure = SluiceError(wrapping: error, doing: "committing")
        guard failure.code == .inputOutput else { return failure }
        mustTruncate = true
        do {
            try prepare(isSynced: true)
            return failure
        } catch {
            return SluiceError(
                .unknownCommit,
                "a commit failed and the log could not be cleared: the write may or may not be stored",
                sqliteCode: failure.sqliteCode
            )
        }
    }

    /// Whether there is work to do between two groups.
    var isUpkeepDue: Bool {
        (transaction.isWriteBehindDue || isCheckpointDue || space != .none)
            && !isSuspended && check.refusal == nil
    }

    private var isCheckpointDue: Bool {
        trouble.isCheckpointAsked || checkpoints.isDue(at: connection.logFrames)
    }

    /// Does what is due between two groups.
    func performUpkeep() {
        if transaction.isWriteBehindDue { writeBehind() }
        if isCheckpointDue {
            checkpoint()
        } else if space != .none {
            giveBackSpace()
        }
    }

    /// Writes the order of what waits to the file, in a transaction of its own.
    ///
    /// A failure leaves it in memory, or to the next start; the next try follows when there is more.
    private func writeBehind() {
        let write = WriteBehind()
        _ = commit([write], waitsForLock: true)
        guard let error = write.failure else { return }
        transaction.postponeWriteBehind()
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
        checkpoints.checkpointed(at: connection.logFrames)
        trouble.startCheckpoint()
        do {
            let result = try connection.checkpoint(.passive)
            trouble.pinned(result.frames - result.copied)
            if space == .none { space = .isDue }
            logger.trace(
                "checkpoint",
                metadata: ["frames": "\(result.frames)", "copied": "\(result.copied)"]
            )
        } catch {
            logger.debug("checkpoint failed", metadata: ["error": "\(error.code)"])
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

    func perform(in transaction: WriteTransaction) throws { try transaction.writeBehind() }

    func complete() {}

    func complete(failing error: SluiceError) { failure = error }
}
