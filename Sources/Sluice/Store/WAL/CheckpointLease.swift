internal import SluiceSQLite

/// Which of several processes of the engine keeps its pin between commits and checkpoints, where SQLite
/// has the WAL-reset bug; the others pin for a commit each, and leave the log to that one.
///
/// Pins keep the log safe without it. But that of one process keeps the checkpoints of all others from
/// copying anything: two that both keep theirs would let the log grow without end. So one that commits much
/// while others run queues too writes its name into the file, in a transaction that commits anyway, before
/// it has a log to copy; and so does one whose checkpoint has met a pin. Those that run queues are told of
/// it, as their pins stay where they commit nothing; all others find it in their next transaction. A process
/// that is alone never writes it. It is taken over from one that has become idle, which copies nothing.
///
/// Not thread-safe: the writer's leader alone uses it.
struct CheckpointLease {
    static let length: Duration = .seconds(30)
    /// It is renewed when no more than this is left of it.
    static let renewal: Duration = .seconds(15)
    /// For as long the one that had it keeps its pin behind its end: others may reckon it to be longer.
    private static let margin: Duration = .seconds(1)
    /// How often it is looked whether the process lives that has it.
    private static let lookInterval: Duration = .seconds(1)
    /// With so many transactions that follow each other it is to be the one that copies the log.
    ///
    /// They make less of a log than ``CheckpointPolicy/shortWAL``. One that commits now and then must not be
    /// it: the log would be left to it, and it copies only behind commits.
    static let busy = 100

    /// The opening of the file that is this one.
    let nonce: Int64
    private let process: ProcessIdentity
    private let clock: any BrokerClock
    /// Until when another has it, by this process's uptime.
    private var othersEnd: Duration?
    /// Until when this one has it.
    private var ownEnd: Duration?
    private var writtenEnd: Duration?
    /// What was read last, and until when it is believed.
    private var known: (row: Row, until: Duration)?
    /// The last checkpoint met something that kept it from copying all.
    private var isBlocked = false
    /// Others have committed since the last checkpoint.
    private var hasCompany = false
    /// Own transactions since the last rest, while others run queues too; where another one has it, since
    /// anybody else has committed.
    private var busyCount = 0

    init(nonce: Int64, process: ProcessIdentity, clock: any BrokerClock) {
        self.nonce = nonce
        self.process = process
        self.clock = clock
    }

    /// One of the same opening, which knows nothing of the file yet.
    func anew() -> CheckpointLease { CheckpointLease(nonce: nonce, process: process, clock: clock) }

    /// Whether another process keeps its pin and checkpoints.
    var isOthers: Bool {
        guard let othersEnd else { return false }
        return clock.uptime < othersEnd
    }

    /// Whether this process has it, or had it a moment ago.
    var isOwn: Bool {
        guard let ownEnd else { return false }
        return clock.uptime < ownEnd + Self.margin
    }

    /// What stands in the file of another's lease.
    private struct Row: Equatable {
        let nonce: Int64
        let process: ProcessIdentity
        let end: LeaseEnd
    }

    /// Reads the lease as others may have written it.
    mutating func read(_ connection: Connection) throws(SQLiteError) {
        hasCompany = true
        let row = try connection.cached(
            "SELECT nonce, pid, process, lease_until_us, lease_until_boot_us FROM sluice_checkpointer"
        )
        .first {
            Row(
                nonce: $0.int64(0),
                process: ProcessIdentity(pid: $0.int64(1), mark: $0.text(2)),
                end: LeaseEnd($0.int64(3), $0.optionalInt64(4))
            )
        }
        guard let row, row.nonce != nonce else {
            othersEnd = nil
            return
        }
        ownEnd = nil
        // To look whether a process lives takes longer than all the rest.
        if known.map({ $0.row != row || clock.uptime >= $0.until }) ?? true {
            known = (row, clock.uptime + Self.lookInterval)
            othersEnd = end(of: row)
        }
        if isOthers { busyCount = 0 }
    }

    /// Until when another has it, by this process's uptime.
    private func end(of row: Row) -> Duration? {
        // This process has one store on the file: what it finds of itself, an earlier store has left.
        guard row.process != process, !row.process.isDead(seenFrom: process) else { return nil }
        let left = row.end.timeLeft(of: row.process, at: clock.now)
        // A jump of the wall clock makes it no longer than it can be.
        return left > .zero ? clock.uptime + min(left, Self.length) : nil
    }

    /// A checkpoint has ended.
    mutating func checkpointed(isComplete: Bool) { isBlocked = !isComplete }

    /// Nothing has been committed for a while.
    mutating func rested() { busyCount = 0 }

    /// Takes or renews the lease in the open transaction, if it needs it.
    ///
    /// Until the one that had it learns that, both keep their pins: that keeps the log safe too.
    ///
    /// - Parameter besideOthers: Other processes run queues too.
    /// - Returns: Whether others are to learn of it: until then it was not this one's.
    mutating func write(_ connection: Connection, besideOthers: Bool) throws(SQLiteError) -> Bool {
        busyCount = besideOthers ? min(busyCount + 1, Self.busy) : 0
        let isBusy = busyCount == Self.busy
        let isAsked = isBlocked || (ownEnd != nil && hasCompany)
        guard isBusy || isAsked && !isOthers, !mutant("checkpoint lease") else { return false }
        let uptime = clock.uptime
        if let ownEnd, uptime + Self.renewal < ownEnd { return false }
        let end = LeaseEnd(after: Self.length, from: clock.now)
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

    /// The transaction has been committed.
    mutating func committed() {
        guard let writtenEnd else { return }
        ownEnd = writtenEnd
        (othersEnd, self.writtenEnd) = (nil, nil)
        (isBlocked, hasCompany) = (false, false)
    }

    /// Gives it up, so that the others keep their own pins from their next commit on.
    mutating func giveUp(_ connection: Connection) throws {
        try connection.immediate {
            _ = try connection.cached("DELETE FROM sluice_checkpointer WHERE nonce = ?1").bind(1, nonce).run()
        }
        ownEnd = nil
    }

    /// The transaction has been undone.
    mutating func rolledBack() { writtenEnd = nil }
}
