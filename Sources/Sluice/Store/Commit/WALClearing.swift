/// Whether the WAL must be copied and truncated, as a sync of it may have failed, and when to try again.
struct WALClearing {
    /// Whether a sync failed: nothing may be acknowledged before.
    var isDue = false
    /// Whether the WAL may have been left by a process that has died, and alone knew of a failed sync.
    var isInherited: Bool
    /// How long the next try waits for readers.
    private var patience = WALGuard.patience
    /// When the next try may begin.
    private(set) var startsAt = Duration.zero

    static let failure = SluiceError(
        .inputOutput,
        "a sync failed and the WAL could not be checkpointed since"
    )

    init(isInherited: Bool) { self.isInherited = isInherited }

    /// How long a try waits: the rest after an earlier one fits into the same time.
    func wait(within timeout: Duration, left: Duration) -> Duration {
        max(min(patience, timeout / 2, left), .milliseconds(1))
    }

    /// Others get the write lock for as long as a try has held it; one that was refused has held no lock.
    mutating func wasBlocked(for wait: Duration, until now: Duration, isRefused: Bool) {
        startsAt = now + (isRefused ? WALGuard.lockPatience : wait)
        if !isRefused, wait == patience { patience = min(patience * 2, WALGuard.longestPatience) }
    }
}
