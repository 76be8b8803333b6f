internal import SluiceSQLite

/// Keeps any checkpoint and a commit that restarts the WAL apart, if SQLite has the WAL-reset bug.
///
/// The bug (<https://www.sqlite.org/wal.html#walresetbug>): a checkpoint notes the length of the WAL, and
/// only then checks how much of it was copied. If all of it was, a commit of another connection can restart
/// the WAL in between. The checkpoint then records that as much of the new WAL was copied as the old one had,
/// so that frames written there are never copied, and are lost at the next restart.
///
/// Three rules protect the commits and checkpoints of the engine, whatever others do:
///
/// 1. Each commit is made under a pin (``WALPin``): a checkpoint and a restart cannot both happen.
/// 2. A checkpoint of the engine releases the pin only when it already has SQLite's lock against other
///   checkpoints, and while it holds the write lock. If it does not get that in time, it continues under the
///   pin. Most of a long WAL is copied earlier, under a pin at its end, without the write lock.
/// 3. Otherwise a pin is released only if no checkpoint of others is under way that could have begun before
///   the last commit. The exception is a checkpoint that has waited long for the pin itself: it holds the
///   write lock, which a commit cannot pass either.
///
/// A pin keeps others from copying the WAL, so it is released soon after the last commit. Among several
/// processes of the engine, only one keeps its pin between commits (``CheckpointLease``). If a reader keeps a
/// checkpoint from copying the whole WAL, the pin is held only during each commit until a checkpoint is
/// complete: a reader such as Litestream ends its read transaction only for a checkpoint of its own, which
/// the pin would block.
///
/// Not thread-safe: only the writer's leader uses it.
final class WALGuard {
    /// How long a checkpoint waits for readers and for the pins of others, with the write lock held.
    static let patience: Duration = .milliseconds(20)
    /// How long one waits at most after a failed sync: for three calls of ``rest()`` in another process.
    ///
    /// One finds a commit since the last call, one the wait, and one that it lasts.
    static let longestPatience: Duration = .milliseconds(3_500)
    /// How long checkpoints do not wait after one has waited in vain; doubled for a reader that never ends.
    static let firstWaitInterval: Duration = .seconds(1)
    static let longestWaitInterval: Duration = .seconds(32)
    /// Frames at which every process copies the WAL, whichever has the lease.
    static let neglected = 4 * CheckpointPolicy.longWAL
    /// ``neglected`` in bytes, with SQLite's usual pages.
    static let neglectedByteCount = neglected * 4_096
    /// The most frames that are left to a checkpoint with the write lock held: commits of others wait for it,
    /// some 10 ms.
    private static let lockedLimit = CheckpointPolicy.shortWAL
    /// How often most of the WAL is copied before a checkpoint, if commits extend it as fast.
    private static let aheadLimit = 3
    /// The interval, in seconds, between checks whether the pin is still needed.
    static let restInterval = 1
    /// The most frames that SQLite adds to a commit to fill a sector: of 64 KiB, with pages of 512 bytes.
    private static let sectorFrames = 128
    /// How long a commit waits for the write lock before it checks whether its holder waits for the pin.
    static let lockPatience: Duration = .milliseconds(250)
    /// How long a close waits for the end of others' checkpoints.
    static let closePatience: Duration = .seconds(1)

    private let connection: Connection
    private let place: any WorkPlace
    private let pin: WALPin
    private var lease: CheckpointLease
    /// Called when ``rest()`` must be called every ``restInterval`` from now on, as it is while `isWatched`.
    var onHold: () -> Void = {}
    private var isWatched = false
    private var isIdle = false
    private var isComplete = true
    private var copied = 0
    /// Before this time no checkpoint waits, as the last one that did has waited in vain.
    private var nextWait = Duration.zero
    private var waitInterval = firstWaitInterval
    /// Whether the pin was taken in the open transaction.
    private var isFresh = false
    /// Whether a checkpoint that had waited in vain took the pin again.
    private var isRetaken = false
    /// Whether another checkpoint was under way at the last call of ``rest()``.
    private var hasWaited = false

    init(_ connection: Connection, _ place: any WorkPlace, pin: WALPin, lease: CheckpointLease) {
        (self.connection, self.place, self.pin, self.lease) = (connection, place, pin, lease)
    }

    /// Returns the guard of the same WAL for a newly opened connection, after this one was closed.
    func continued(on connection: Connection) -> WALGuard {
        let next = WALGuard(connection, place, pin: pin, lease: lease.anew())
        next.onHold = onHold
        return next
    }

    /// `nil` in memory, where there is no WAL.
    convenience init?(
        _ connection: Connection,
        _ file: DatabaseFile,
        _ nonce: Int64,
        _ process: ProcessIdentity,
        _ options: BrokerOptions
    ) {
        guard case .file(let path) = file.location else { return nil }
        self.init(
            connection,
            options.engine.place,
            pin: WALPin { try file.openReader(path) },
            lease: CheckpointLease(nonce: nonce, process: process, clock: options.clock)
        )
    }

    /// Takes the pin, after a transaction has begun and before it writes.
    func begun(othersCommitted: Bool) throws {
        if othersCommitted { try lease.read(connection) }
        (isIdle, hasWaited) = (false, false)
        isFresh = !pin.isHeld
        if mustYield { connection.countWrittenPages() }
        if !mutant("log pin") { try hold() }
    }

    /// Whether the pin must not be held between commits.
    private var mustYield: Bool { lease.isOthers || !isComplete && !mutant("yielding pin") }
    /// Releases the pin for a checkpoint of others, while a commit waits long for the write lock.
    func deferAfterAttempt() throws { if try connection.isOtherCheckpointing() { pin.release() } }

    private func hold() throws {
        try pin.hold()
        guard !isWatched else { return }
        isWatched = true
        onHold()
    }

    /// Writes the checkpoint lease before the commit, if it is due; returns whether others must be notified.
    func willCommit(besideOthers: Bool) throws(SQLiteError) -> Bool {
        try lease.write(connection, besideOthers: besideOthers)
    }

    /// Called after the commit; if the check whether the pin may be released fails, the pin is held.
    func committed() throws {
        lease.committed()
        // The WAL has restarted.
        if connection.walFrames < copied { copied = 0 }
        if mustYield { try yieldPin() }
    }

    /// Releases the pin after a commit, unless it protects the commit from a checkpoint of others.
    private func yieldPin() throws {
        // A checkpoint does harm only if the WAL has restarted since it began. While the pin was held, only
        // this commit can have restarted it: the WAL then has its pages and the fill of a sector alone.
        let isLonger = connection.walFrames > connection.writtenPages + Self.sectorFrames
        if isFresh, isLonger || mutant("pin under a restart") { return pin.release() }
        if try !connection.isOtherCheckpointing() { pin.release() }
    }

    func rolledBack() { lease.rolledBack() }
    /// Returns whether another process is responsible for a WAL with so many frames.
    ///
    /// - Parameter limit: ``CheckpointPolicy/limit``.
    func leavesCheckpoint(of frames: Int, limit: Int? = nil) -> Bool {
        frames < min(Self.neglected, limit.map { 2 * $0 } ?? .max) && lease.isOthers
    }

    /// Copies the WAL, as far as readers allow.
    ///
    /// - Parameter isLong: Whether commits of others may have made the WAL long since the last own commit.
    func checkpoint(isLong: Bool = false) throws -> Checkpoint {
        let blocked = try copyAhead(isLong: isLong)
        let waits = place.now >= nextWait
        // Without waiting it would only search a long WAL once more, with the write lock held.
        if let blocked, !waits { return ended(blocked) }
        var result = try checkpoint(.full, waits ? Self.patience : .zero)
        // If all was copied ahead, nothing waited for the pin, which would keep the WAL from restarting.
        if isComplete, pin.isHeld { result = try checkpoint(.restart, .zero) }
        if waits, !isComplete, !result.wasRefused { waitedInVain() }
        return result
    }

    /// Copies the WAL, as far as readers allow, while another connection of this process has the write lock.
    func checkpointWhileNobodyCommits() throws -> Checkpoint {
        if pin.isHeld, try !connection.isOtherCheckpointing() { pin.release() }
        return ended(try connection.checkpoint(.passive))
    }

    /// Copies and truncates the WAL, if no reader stays.
    func truncate() throws -> Checkpoint {
        let waits = place.now >= nextWait
        let result = try truncate(within: waits ? Self.patience : .zero)
        if waits, result.wasBlocked, !result.wasRefused { waitedInVain() }
        return result
    }

    /// Copies and truncates the WAL, and waits so long for readers, with the write lock held.
    func truncate(within patience: Duration) throws -> Checkpoint {
        let wasHeld = pin.isHeld
        isRetaken = false
        // Nothing was committed since the pin was taken here, or was released while no other checkpoint was
        // under way. Processes that kept such pins would wait for each other.
        defer { if !wasHeld || isRetaken, !mutant("pin of a checkpoint") { pin.release() } }
        _ = try copyAhead()
        return try checkpoint(.truncate, patience)
    }

    private func waitedInVain() {
        nextWait = place.now + waitInterval
        waitInterval = min(waitInterval * 2, Self.longestWaitInterval)
    }

    /// Copies most of a long WAL without the write lock: no commit can restart it, as the pin is at its end.
    ///
    /// - Returns: The result if a reader has kept it from copying anything.
    private func copyAhead(isLong: Bool = false) throws -> Checkpoint? {
        let earlier = copied
        let blocked = try copyUnlocked(isLong: isLong)
        // If others commit meanwhile, SQLite leaves the sync to the checkpoint with the write lock held.
        if copied > earlier, !mutant("synced copy") { try connection.syncDatabase() }
        return blocked
    }

    private func copyUnlocked(isLong: Bool) throws -> Checkpoint? {
        var isLong = isLong && !mutant("log of others")
        for _ in 0..<Self.aheadLimit {
            guard isLong || connection.walFrames - copied > Self.lockedLimit else { return nil }
            isLong = false
            // The old pin may keep a checkpoint of others and a commit that restarted the WAL apart.
            if pin.isHeld, try connection.isOtherCheckpointing(), !mutant("renewed pin") { return nil }
            do { try pin.renew() } catch { return nil }
            let result = try connection.checkpoint(.passive)
            // A reader blocks the copy: the following checkpoint waits for it.
            guard result.copied > copied else {
                return result.frames - result.copied > Self.lockedLimit ? result : nil
            }
            copied = result.copied
            guard result.frames - copied > Self.lockedLimit else { return nil }
        }
        return nil
    }

    /// Takes the pin again after a checkpoint if this process has the lease; releases it if a reader blocks.
    func checkpointed() throws {
        if isComplete {
            if lease.isOwn { try hold() }
        } else if pin.isHeld, try !connection.isOtherCheckpointing() {
            pin.release()
        }
    }

    private func checkpoint(_ mode: Checkpoint.Mode, _ patience: Duration) throws -> Checkpoint {
        let deadline = place.now + patience
        let result = try connection.checkpoint(mode) { [self] in
            if pin.isHeld {
                // The pin may be the obstacle, and no other checkpoint is under way now.
                pin.release()
                return true
            }
            if place.now < deadline {
                connection.pause()
                return true
            }
            // It continues, perhaps without the write lock.
            do {
                try hold()
                isRetaken = true
            } catch { connection.interrupt() }
            return false
        }
        return ended(result)
    }

    /// Records the result of a checkpoint.
    private func ended(_ result: Checkpoint) -> Checkpoint {
        isComplete = result.copied == result.frames && (!result.wasRefused || mutant("refused checkpoint"))
        if !result.wasRefused { copied = result.copied }
        if isComplete { (waitInterval, nextWait) = (Self.firstWaitInterval, place.now) }
        lease.checkpointed(isComplete: isComplete)
        return result
    }

    /// Releases the pin if nothing was committed since the last call and no process relies on it; returns
    /// whether it must be called again.
    func rest() throws -> Bool {
        if pin.isHeld {
            defer { isIdle = true }
            if try !isIdle || isNeeded() { return true }
            pin.release()
            lease.rested()
        }
        isWatched = false
        return false
    }

    /// Releases the pin if another's checkpoint has refused this one, and seems to wait for the pin: it holds
    /// the write lock for a while.
    ///
    /// While a process waits to clear the WAL it does not ``rest()``.
    func yieldWhenRefused() throws {
        guard pin.isHeld, try connection.isWriteLockTaken(for: Self.lockPatience) else { return }
        if !mutant("pin of a refused") { try deferAfterAttempt() }
    }

    private func isNeeded() throws -> Bool {
        guard try connection.isOtherCheckpointing() else { return lease.isOwn && isComplete }
        // A checkpoint with the write lock may wait for the pin, which is released the second time. Any other
        // may be at the point where a release does harm.
        guard try connection.isWriteLockTaken() else { return true }
        defer { hasWaited = true }
        return !hasWaited
    }

    var isPinned: Bool { pin.isHeld }

    func close(isWritable: Bool) {
        if isWritable, lease.isOwn {
            connection.setBusyTimeout(Self.patience)
            // If it fails, the others rely on this process until they find that it has ended.
            try? lease.giveUp(connection)
        }
        let deadline = place.now + Self.closePatience
        // An error releases it too: the close must not fail for that.
        while pin.isHeld, place.now < deadline, (try? connection.isOtherCheckpointing()) == true {
            connection.pause()
        }
        pin.close()
    }
}

extension Connection {
    /// Returns whether another connection has the write lock, at each look in a time.
    fileprivate func isWriteLockTaken(for time: Duration = .zero) throws -> Bool {
        setBusyTimeout(time)
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
