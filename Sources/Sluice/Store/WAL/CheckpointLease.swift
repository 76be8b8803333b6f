internal import SluiceSQLite

/// Decides which of several processes keeps its pin between commits and checkpoints, if SQLite has the
/// WAL-reset bug.
///
/// The others pin for each commit only, and leave the WAL to that process: if two kept their pins, no
/// checkpoint would copy anything, and the WAL would grow without bound.
///
/// A process takes the lease when it commits much while others also run queues, or when a pin has blocked its
/// checkpoint, in a transaction that commits anyway, before it has a WAL to copy. Runners are notified, since
/// their pins stay while they commit nothing; all others find the lease in their next transaction. The lease
/// of an idle process, which copies nothing, can be taken over. Not thread-safe: only the writer's leader
/// uses it.
struct CheckpointLease {
    static let length: Duration = .seconds(30)
    /// The lease is renewed when at most this much is left of it.
    static let renewal: Duration = .seconds(15)
    /// How long its owner keeps the pin after the end: other processes may compute a later end.
    private static let margin: Duration = .seconds(1)
    /// How often a process checks whether the owner lives.
    private static let lookInterval: Duration = .seconds(1)
    /// The successive transactions after which a process takes the lease: one that rarely commits must not,
    /// as it copies the WAL that is left to it only after commits.
    static let busy = 100
    let nonce: Int64
    private let process: ProcessIdentity
    private let clock: any BrokerClock
    /// The ends of the leases of another process and of this one, by this process's uptime.
    private var othersEnd: Duration?
    private var ownEnd: Duration?
    private var writtenEnd: Duration?
    /// The row that was read last, and until when it is valid.
    private var known: (row: Row, until: Duration)?
    /// Whether the last checkpoint could not copy everything.
    private var isBlocked = false
    /// Whether others have committed since the last checkpoint.
    private var hasCompany = false
    /// Own transactions since the last rest, while others also run queues; if another process has the lease,
    /// since the last commit of others.
    private var busyCount = 0

    init(nonce: Int64, process: ProcessIdentity, clock: any BrokerClock) {
        self.nonce = nonce
        self.process = process
        self.clock = clock
    }

    /// Returns a lease of the same opening, without memory of the file.
    func anew() -> CheckpointLease { CheckpointLease(nonce: nonce, process: process, clock: clock) }
    /// Whether another process has the lease.
    var isOthers: Bool { othersEnd.map { clock.uptime < $0 } ?? false }
    /// Whether this process has the lease, or had it within the margin.
    var isOwn: Bool { ownEnd.map { clock.uptime < $0 + Self.margin } ?? false }

    private struct Row: Equatable {
        let nonce: Int64
        let process: ProcessIdentity
        let end: LeaseEnd
    }

    mutating func read(_ connection: Connection) throws(SQLiteError) {
        hasCompany = true
        let row = try connection.cached(
            "SELECT nonce, pid, process, lease_until_us, lease_until_boot_us FROM sluice_checkpointer"
        )
        .first {
            let process = ProcessIdentity(pid: $0.int64(1), mark: $0.text(2))
            return Row(nonce: $0.int64(0), process: process, end: LeaseEnd($0.int64(3), $0.optionalInt64(4)))
        }
        guard let row, row.nonce != nonce else {
            othersEnd = nil
            return
        }
        ownEnd = nil
        // To check whether a process lives takes longer than all the rest.
        if known.map({ $0.row != row || clock.uptime >= $0.until }) ?? true {
            known = (row, clock.uptime + Self.lookInterval)
            othersEnd = end(of: row)
        }
        if isOthers { busyCount = 0 }
    }

    private func end(of row: Row) -> Duration? {
        // This process has one store on the file: a row of its own is left from an earlier store.
        guard row.process != process, !row.process.isDead(seenFrom: process) else { return nil }
        let left = row.end.timeLeft(of: row.process, seenFrom: process, at: clock.now)
        // A jump of the wall clock does not extend it beyond its length.
        return left > .zero ? clock.uptime + min(left, Self.length) : nil
    }

    mutating func checkpointed(isComplete: Bool) { isBlocked = !isComplete }
    /// Records that nothing was committed for a while.
    mutating func rested() { busyCount = 0 }

    /// Takes or renews the lease, if it needs it; returns whether it is new, so that others must be notified.
    mutating func write(_ connection: Connection, besideOthers: Bool) throws(SQLiteError) -> Bool {
        // Until the former owner reads the change, both keep their pins, which is safe for the WAL.
        busyCount = besideOthers ? min(busyCount + 1, Self.busy) : 0
        let isBusy = busyCount == Self.busy
        let isAsked = isBlocked || (ownEnd != nil && hasCompany)
        guard isBusy || isAsked && !isOthers, !mutant("checkpoint lease") else { return false }
        let uptime = clock.uptime
        if let ownEnd, uptime + Self.renewal < ownEnd { return false }
        let end = LeaseEnd(after: Self.length, from: clock.now, of: process)
        try connection.cached(
            """
            INSERT INTO sluice_checkpointer (only, nonce, pid, process, lease_until_us, lease_until_boot_us)
            VALUES (1, ?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (only) DO UPDATE SET
                nonce = excluded.nonce, pid = excluded.pid, process = excluded.process,
                lease_until_us = excluded.lease_until_us, lease_until_boot_us = excluded.lease_until_boot_us
            """
        )
        .bind(1, nonce).bind(2, process.pid).bind(3, process.mark)
        .bind(4, end.wall.microseconds).bind(5, end.onMachine).run()
        writtenEnd = uptime + Self.length
        return ownEnd.map { uptime >= $0 } ?? true
    }

    mutating func committed() {
        guard let writtenEnd else { return }
        ownEnd = writtenEnd
        (othersEnd, self.writtenEnd) = (nil, nil)
        (isBlocked, hasCompany) = (false, false)
    }

    /// Gives the lease up, so that the others keep their own pins from their next commit on.
    mutating func giveUp(_ connection: Connection) throws {
        try connection.immediate {
            _ = try connection.cached("DELETE FROM sluice_checkpointer WHERE nonce = ?1").bind(1, nonce).run()
        }
        ownEnd = nil
    }

    mutating func rolledBack() { writtenEnd = nil }
}
