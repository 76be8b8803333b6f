/// Decides when the WAL is copied into the database.
///
/// With a long WAL, a page changed by many commits is copied once for all of them. But a sync after pages
/// that extend the WAL costs about twice one after pages that overwrite it, since the file system also writes
/// a new length. So small synced commits, one message after the other, use a short WAL.
///
/// Beside a reader that never ends each try is in vain, and the longer the WAL, the longer it takes: SQLite
/// sorts all that is not copied. So the tries are spaced by what they cost.
struct CheckpointPolicy {
    /// Frames of the WAL at which it is copied in any case: about 40 MB.
    static let longWAL = 10_000
    /// Frames at which it is copied if small synced commits have made them: about 4 MB.
    static let shortWAL = 1_000
    /// Synced commits are small if they add fewer frames on average, as those of one message; groups would
    /// pay more for checkpoints than they save in syncs.
    static let smallCommit = 4
    /// After a try that copied nothing, none is made for so many times as long as it took.
    static let restFactor = 32
    /// The longest of these rests: the WAL is short again soon after the reader has ended.
    static let longestRest: Duration = .seconds(2)
    /// The rest after a try that another checkpoint has refused.
    static let refusedRest: Duration = .milliseconds(100)
    /// Frames at which the WAL is copied on a disk with little room (``SpaceReserve``).
    var limit: Int?
    /// Frames at the last checkpoint, until the WAL restarts.
    private var copied = 0
    private var syncedCommits = 0
    /// What the last checkpoint has left copied.
    private var reached = 0
    /// No try is made before this time of ``WorkPlace/now``, asked for or not.
    private var restsUntil = Duration.zero

    mutating func committed(isSynced: Bool) { if isSynced { syncedCommits += 1 } }

    mutating func isDue(at frames: Int) -> Bool {
        // A commit after a complete checkpoint restarts the WAL.
        if frames < copied { copied = 0 }
        let added = frames - copied
        if let limit, added >= limit { return true }
        guard added >= Self.shortWAL else { return false }
        return added >= Self.longWAL || syncedCommits * Self.smallCommit > added
    }

    /// Records a checkpoint made or tried: the next one follows when the WAL has grown by as much again.
    mutating func checkpointed(at frames: Int) { (copied, syncedCommits) = (frames, 0) }

    /// Records how much of the WAL a checkpoint found copied, by itself or by earlier ones, and of how much.
    ///
    /// One that has copied nothing more is followed by a rest.
    mutating func ended(
        copied reached: Int,
        of frames: Int,
        since start: Duration,
        now: Duration
    ) {
        let isInVain = reached < frames && reached == self.reached
        self.reached = reached
        let rest = min((now - start) * Self.restFactor, Self.longestRest)
        restsUntil = isInVain ? now + rest : now
    }

    /// Records that another checkpoint was under way: the next try is made soon after it.
    mutating func refused(now: Duration) { restsUntil = now + Self.refusedRest }

    func mayTry(at now: Duration) -> Bool { now >= restsUntil }
}
