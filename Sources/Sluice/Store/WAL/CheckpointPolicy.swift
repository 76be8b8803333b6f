/// Decides when the WAL is copied into the database.
///
/// With a long WAL, a page changed by many commits is copied once for all of them. But a sync after pages
/// that extend the WAL costs about twice one after pages that overwrite it, since the file system also writes
/// a new length. So small synced commits, one message after the other, use a short WAL.
struct CheckpointPolicy {
    /// Frames of the WAL at which it is copied in any case: about 40 MB.
    static let longWAL = 10_000
    /// Frames at which it is copied if small synced commits have made them: about 4 MB.
    static let shortWAL = 1_000
    /// Synced commits are small if they add fewer frames on average, as those of one message; groups would
    /// pay more for checkpoints than they save in syncs.
    static let smallCommit = 4
    /// Frames at the last checkpoint, until the WAL restarts.
    private var copied = 0
    private var syncedCommits = 0

    mutating func committed(isSynced: Bool) { if isSynced { syncedCommits += 1 } }

    mutating func isDue(at frames: Int) -> Bool {
        // A commit after a complete checkpoint restarts the WAL.
        if frames < copied { copied = 0 }
        let added = frames - copied
        guard added >= Self.shortWAL else { return false }
        return added >= Self.longWAL || syncedCommits * Self.smallCommit > added
    }

    /// Records a checkpoint made or tried: the next one follows when the WAL has grown by as much again.
    mutating func checkpointed(at frames: Int) { (copied, syncedCommits) = (frames, 0) }
}
