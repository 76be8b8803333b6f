/// When the log is to be copied into the database.
///
/// A long log has a page that many commits touch copied once for all of them. But a sync behind pages that
/// make the log longer costs about twice one behind pages that overwrite it, as the file system has a new
/// length to write too; and an application that closes its file begins with an empty log each time. So small
/// synced commits, one message after the other, keep to a short log, which is soon overwritten.
struct CheckpointPolicy {
    /// Frames of the log at which it is copied whatever they hold: about 40 MB.
    static let longWAL = 10_000
    /// Frames at which it is copied when small synced commits have made them: about 4 MB.
    static let shortWAL = 1_000
    /// Synced commits are small that add fewer frames than this on average.
    ///
    /// Those of one message each, not those of a group of them, which would pay for more checkpoints than
    /// they save in syncs.
    static let smallCommit = 4

    /// Frames at the last checkpoint, as long as the log has not begun anew.
    private var copied = 0
    private var syncedCommits = 0

    mutating func committed(isSynced: Bool) {
        if isSynced { syncedCommits += 1 }
    }

    /// - Parameter frames: Of the log, as the last commit left it.
    mutating func isDue(at frames: Int) -> Bool {
        // A commit after a complete checkpoint begins the log anew.
        if frames < copied { copied = 0 }
        let added = frames - copied
        guard added >= Self.shortWAL else { return false }
        return added >= Self.longWAL || syncedCommits * Self.smallCommit > added
    }

    /// A checkpoint was made or tried: the next one follows when the log has grown by as much again.
    mutating func checkpointed(at frames: Int) {
        copied = frames
        syncedCommits = 0
    }
}
