/// Whether the end of another process's lease says anything.
///
/// It does not behind a time in which this process could not write either: the other may have waited for the
/// same write lock, of a process that was frozen in the middle of a commit. Nor does it for a process that
/// has only begun, and does not know what was before it. Their leases count from then on.
struct SilenceJudge {
    /// The last renewal of one's own.
    private(set) var renewedAt: Duration?
    private var judgesFrom = Duration.zero

    mutating func renewed(at uptime: Duration, _ leases: LeaseTimes) {
        noteDelay(at: uptime, leases)
        renewedAt = uptime
    }

    /// - Parameter waited: How long the open transaction has waited for the write lock.
    mutating func judges(at uptime: Duration, behind waited: Duration, _ leases: LeaseTimes) -> Bool {
        noteDelay(at: uptime, leases)
        if renewedAt == nil || waited > leases.renewal / 2 { wasLate(at: uptime, leases) }
        return uptime >= judgesFrom
    }

    private mutating func noteDelay(at uptime: Duration, _ leases: LeaseTimes) {
        guard let renewedAt, uptime - renewedAt > leases.length / 2 else { return }
        wasLate(at: uptime, leases)
    }

    /// One's own lease was over, or nearly.
    mutating func wasLate(at uptime: Duration, _ leases: LeaseTimes) { judgesFrom = uptime + leases.length }
}
