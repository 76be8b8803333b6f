/// Decides whether the end of another process's lease shows that the process is dead.
///
/// It does not in a process that has just started, or could not write either: both may have waited for the
/// write lock of a process that was frozen in a commit. The others' leases then count from that moment.
struct SilenceJudge {
    /// The last renewal of this process's lease.
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
        if let renewedAt, uptime - renewedAt > leases.length / 2 { wasLate(at: uptime, leases) }
    }

    /// Records that this process's own lease had ended, or nearly.
    mutating func wasLate(at uptime: Duration, _ leases: LeaseTimes) { judgesFrom = uptime + leases.length }
}
