internal import SluiceSQLite

/// Keeps apart, where SQLite has the WAL-reset bug, what must not meet: a checkpoint, of anybody, and a
/// commit that begins the log anew.
///
/// The bug (<https://www.sqlite.org/wal.html#walresetbug>): a checkpoint notes how long the log is, and
/// only then looks how much of it was copied. If all was, and a commit of another connection begins the
/// log anew in between, the checkpoint says of the new log that as much of it was copied as the old one
/// had. What commits write there is never copied, and is lost when the log begins anew the next time.
///
/// Three rules keep that from happening to what the engine commits and copies, whatever others do:
///
/// 1. Nothing is committed but under a pin (``WALPin``), which lets no checkpoint and such a commit both
///    happen.
/// 2. A checkpoint of the engine's has the pin let go only when it has SQLite's right to be the only
///    checkpoint already, and goes on holding the write lock; where it does not get that in time, it goes
///    on under the pin. Most of a long log is copied under a pin at its end before, without the write lock.
/// 3. Besides, a pin is let go only when no checkpoint of others is under way that could have begun before
///    the last commit; or when one is under way for so long that it waits for the pin itself, holding the
///    write lock, which a commit cannot get past either.
///
/// A pin keeps others from copying the log, so it is not kept for long after the last commit; and among
/// several processes of the engine only one keeps its own between commits (``CheckpointLease``).
///
/// When a reader keeps a checkpoint of the engine from copying the whole log, the pin is held only during
/// each commit, until a checkpoint is complete again. That reader may belong to a program that replicates the
/// log, such as Litestream: it ends its read transaction only for a checkpoint of its own, which the pin
/// would keep from copying. Neither would then ever copy the log.
///
/// Not thread-safe: the writer's leader alone uses it.
final class WALGuard {
    /// How long a checkpoint waits for readers and for the pins of others, with the write lock held; what it
    /// could not copy by then is left to the next one.
    static let patience: Duration = .milliseconds(50)
    /// After a checkpoint has waited in vain, how long the next ones do not wait.
    ///
    /// It doubles each time, so that a reader that never ends delays commits less and less; readers that
    /// follow each other need one wait.
    static let firstWaitInterval: Duration = .seconds(1)
    static let longestWaitInterval: Duration = .seconds(32)
    /// Frames at which every process copies the log, whoever should do it.
    static let neglected = 4 * CheckpointPolicy.longWAL
    /// ``neglected``, in bytes, with SQLite's usual pages.
    static let neglectedByteCount = neglected * 4_096
    /// How often most of the log is copied before a checkpoint, if commits make it longer as fast.
    private static let aheadLimit = 3
    /// How often, in seconds, it is looked whether the pin is still needed: a commit within this time behind
    /// the last one finds it in place.
    static let restInterval = 1
    /// The most frames that SQLite adds to a commit to fill a sector: of 64 KiB, with pages of 512 bytes.
    private static let sectorFrames = 128
    /// How long a commit waits for the write lock before it looks whether somebody waits for the pin with it.
    static let lockPatience: Duration = .milliseconds(250)
    /// How long a close waits for the end of others' checkpoints.
    static let closePatience: Duration = .seconds(1)

    private let connection: Connection
    private let pin: WALPin
    /// The most frames that are left to a checkpoint which holds the write lock.
    private let lockedLimit: Int
    private var lease: CheckpointLease
    /// Called when ``rest()`` is to be called from then on.
    var onHold: () -> Void = {}
    /// Whether it is being called.
    private var isWatched = false
    private var isIdle = false
    /// The last checkpoint has copied all.
    private var isComplete = true
    /// Frames that stand in the database file, as far as the last checkpoint has told.
    private var copied = 0
    /// Before this time no checkpoint waits, if the last one was not complete.
    private var nextWait = ContinuousClock.now
    private var waitInterval = firstWaitInterval
    /// The pin was taken in the open transaction.
    private var isFresh = false
    /// Another checkpoint was under way at the last call of ``rest()``.
    private var hasWaited = false

    init(
        _ connection: Connection,
        pin: WALPin,
        lease: CheckpointLease,
        lockedLimit: Int = 2 * CheckpointPolicy.longWAL
    ) {
        self.lockedLimit = lockedLimit
        self.connection = connection
        self.pin = pin
        self.lease = lease
    }

    /// The guard of the same log, once it was closed, for a connection that has been opened since.
    func continued(on connection: Connection) -> WALGuard {
        let next = WALGuard(connection, pin: pin, lease: lease.anew(), lockedLimit: lockedLimit)
        next.onHold = onHold
        return next
    }

    /// The guard of a file's log; `nil` in memory, where there is no log.
    convenience init?(
        _ connection: Connection,
        _ file: DatabaseFile,
        _ nonce: Int64,
        _ process: ProcessIdentity,
        _ clock: any BrokerClock
    ) {
        guard case .file(let path) = file.location else { return nil }
        self.init(
            connection,
            pin: WALPin { try file.openReader(path) },
            lease: CheckpointLease(nonce: nonce, process: process, clock: clock)
        )
    }

    /// A transaction has begun and written nothing yet.
    ///
    /// - Parameter othersCommitted: Whether other connections have committed since the last one.
    func begun(othersCommitted: Bool) throws {
        if othersCommitted { try lease.read(connection) }
        (isIdle, hasWaited) = (false, false)
        isFresh = !pin.isHeld
        if mustYield { connection.countWrittenPages() }
        if !mutant("log pin") { try hold() }
    }

    /// Whether the pin may not be held between commits.
    private var mustYield: Bool { lease.isOthers || !isComplete && !mutant("yielding pin") }

    /// A commit has waited for the write lock for a while, and goes on waiting.
    func giveWay() throws {
        if try connection.isOtherCheckpointing() { pin.release() }
    }

    private func hold() throws {
        try pin.hold()
        guard !isWatched else { return }
        isWatched = true
        onHold()
    }

    /// The transaction is about to be committed.
    ///
    /// - Parameter besideOthers: Whether other processes run queues too.
    /// - Returns: Whether the others are to be told: of those that commit nothing the pins are in the way.
    func willCommit(besideOthers: Bool) throws(SQLiteError) -> Bool {
        try lease.write(connection, besideOthers: besideOthers)
    }

    /// The transaction is committed.
    ///
    /// - Throws: What kept it from finding out whether the pin may go, which is held then; syncs may be off.
    func committed() throws {
        lease.committed()
        if mustYield { try yieldPin() }
    }

    /// Lets the pin go after a commit, unless it protects the commit from a checkpoint of others.
    ///
    /// Such a checkpoint does harm only if the log has begun anew since it began. While the pin was held,
    /// only the commit itself can have done that, and then the log holds its pages alone, and some frames
    /// more where SQLite fills a sector of the disk.
    private func yieldPin() throws {
        let isLonger = connection.walFrames > connection.writtenPages + Self.sectorFrames
        if isFresh, isLonger || mutant("pin under a restart") { return pin.release() }
        if try !connection.isOtherCheckpointing() { pin.release() }
    }

    func rolledBack() { lease.rolledBack() }

    /// Whether another process sees to a log with so many frames.
    func leavesCheckpoint(of frames: Int) -> Bool { frames < Self.neglected && lease.isOthers }

    /// Copies the log, as far as readers allow.
    func checkpoint() throws(SQLiteError) -> Checkpoint {
        try copyAhead()
        let waits = isComplete || ContinuousClock.now >= nextWait
        let result = try checkpoint(.full, waits ? Self.patience : .zero)
        if waits, !isComplete {
            nextWait = .now + waitInterval
            waitInterval = min(waitInterval * 2, Self.longestWaitInterval)
        }
        return result
    }

    /// Copies most of a long log without the write lock: commits of others must not wait for that.
    ///
    /// No commit can begin the log anew meanwhile, as the pin stands at its end. What they add is copied by
    /// the checkpoint that follows, or by another one before it.
    private func copyAhead() throws(SQLiteError) {
        for _ in 0..<Self.aheadLimit {
            if connection.walFrames < copied { copied = 0 }
            guard connection.walFrames - copied > lockedLimit else { return }
            do { try pin.renew() } catch { return }
            let result = try connection.checkpoint(.passive)
            // A reader is in the way: it is for the checkpoint that follows to wait for it.
            guard result.copied > copied else { return }
            copied = result.copied
            guard result.frames - copied > lockedLimit else { return }
        }
    }

    /// Copies the log and cuts it to nothing.
    func truncate(within patience: Duration) throws(SQLiteError) -> Checkpoint {
        try copyAhead()
        return try checkpoint(.truncate, patience)
    }

    /// After a checkpoint, takes the pin again if other processes rely on it between their commits, or lets
    /// it go if a reader is in the way.
    func checkpointed() throws {
        if isComplete {
            if lease.isOwn { try hold() }
        } else if pin.isHeld, try !connection.isOtherCheckpointing() {
            pin.release()
        }
    }

    private func checkpoint(_ mode: Checkpoint.Mode, _ patience: Duration) throws(SQLiteError) -> Checkpoint {
        let deadline = ContinuousClock.now + patience
        let result = try connection.checkpoint(mode) { [self] in
            if pin.isHeld {
                // It may be what is in the way, and no other checkpoint is under way now.
                pin.release()
                return true
            }
            if ContinuousClock.now < deadline {
                Connection.pause()
                return true
            }
            // It goes on, perhaps without the write lock.
            do { try hold() } catch { connection.interrupt() }
            return false
        }
        isComplete = result.copied == result.frames
        copied = result.copied
        if isComplete { waitInterval = Self.firstWaitInterval }
        lease.checkpointed(isComplete: isComplete)
        return result
    }

    /// Lets the pin go when nothing has been committed since the last call, and nobody relies on it.
    ///
    /// - Returns: Whether it is to be called again.
    func rest() throws -> Bool {
        if pin.isHeld {
            guard isIdle else {
                isIdle = true
                return true
            }
            guard try isNeeded() else {
                pin.release()
                lease.rested()
                isWatched = false
                return false
            }
            return true
        }
        isWatched = false
        return false
    }

    private func isNeeded() throws -> Bool {
        guard try connection.isOtherCheckpointing() else { return lease.isOwn && isComplete }
        // One that holds the write lock may wait for the pin: the second time it is let go. Any other may
        // stand where it must not.
        guard try connection.isWriteLockTaken() else { return true }
        defer { hasWaited = true }
        return !hasWaited
    }

    /// Whether the pin is held.
    var isPinned: Bool { pin.isHeld }

    /// Nothing is committed any more.
    ///
    /// - Parameter isWritable: Whether the file may still be written.
    func close(isWritable: Bool) {
        if isWritable, lease.isOwn {
            connection.setBusyTimeout(Self.patience)
            // Where it does not succeed the others rely on this process until they see that it has ended.
            try? lease.giveUp(connection)
        }
        let deadline = ContinuousClock.now + Self.closePatience
        // An error lets it go too: the close is not to fail for that.
        while pin.isHeld, ContinuousClock.now < deadline, (try? connection.isOtherCheckpointing()) == true {
            Connection.pause()
        }
        pin.close()
    }
}

extension Connection {
    /// Returns whether another connection has the write lock.
    fileprivate func isWriteLockTaken() throws -> Bool {
        setBusyTimeout(.zero)
        do {
            try beginImmediate()
        } catch {
            guard error.code.primary == .busy, !isInTransaction else { throw error }
            return true
        }
        rollback()
        return false
    }
}
