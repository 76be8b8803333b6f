internal import SluiceSQLite
internal import Synchronization

/// How long a process keeps its right to run queues without a sign of life, and how often it gives one.
package struct LeaseTimes: Sendable, Hashable {
    /// What a process is given that cannot be told dead.
    package var length: Duration = .seconds(30)
    /// A third of it, so that two renewals may fail.
    ///
    /// Any commit of changes renews it too that comes when half of this has passed.
    package var renewal: Duration = .seconds(10)
    /// How often a process looks whether the others live, while there are others.
    package var watch: Duration = .seconds(1)
    /// The process that ends what this one's handlers have started, should this one die; it ends after that.
    package var keeper: ProcessIdentity?

    package init() {}
}

/// When a lease is over, as the file has it: by the wall clock, and by the time since the machine's start.
///
/// The second counts between processes of one start: no jump of the wall clock moves it.
struct LeaseEnd: Sendable, Hashable {
    let wall: Timestamp
    /// In microseconds; `nil` where the system does not tell.
    let onMachine: Int64?

    init(_ wall: Int64, _ onMachine: Int64?) {
        self.wall = Timestamp(microseconds: wall)
        self.onMachine = onMachine
    }

    /// The end of a lease that begins now.
    init(after length: Duration, from now: Timestamp) {
        wall = now + length
        onMachine = ProcessIdentity.machineUptime.map { ($0 + length).wholeMicroseconds }
    }

    /// How long a process still has it; not more than nothing when it is over.
    func timeLeft(of process: ProcessIdentity, at now: Timestamp) -> Duration {
        if let onMachine, process.sharesUptime, let uptime = ProcessIdentity.machineUptime {
            return .microseconds(onMachine) - uptime
        }
        return wall - now
    }
}

/// A process that runs the queues, as its row in the file has it.
struct RunnerRow: Sendable {
    let epoch: Int64
    let process: ProcessIdentity
    /// Who ends what it has started, if it dies.
    let keeper: ProcessIdentity?
    /// That of its store.
    let nonce: Int64
    let lease: LeaseEnd

    /// All of them, those first that have run queues longest.
    static func all(_ connection: Connection) throws(SQLiteError) -> [RunnerRow] {
        try connection.cached(
            """
            SELECT epoch, pid, process, nonce, lease_until_us, lease_until_boot_us
            FROM sluice_runner_rows ORDER BY epoch
            """
        )
        .all {
            let (mark, keeper) = marks(in: $0.text(2))
            return RunnerRow(
                epoch: $0.int64(0),
                process: ProcessIdentity(pid: $0.int64(1), mark: mark),
                keeper: keeper,
                nonce: $0.int64(3),
                lease: LeaseEnd($0.int64(4), $0.optionalInt64(5))
            )
        }
    }

    /// The column `process`: the mark of the process, and behind it pid and start of its keeper.
    ///
    /// Both are seen in one pid namespace, or not at all.
    static func text(_ process: ProcessIdentity, keptBy keeper: ProcessIdentity?) -> String {
        guard let keeper, keeper.sharesMachine(with: process) else { return process.mark }
        return "\(process.mark) \(keeper.pid) \(keeper.mark.split(separator: " ")[2])"
    }

    private static func marks(in text: String) -> (process: String, keeper: ProcessIdentity?) {
        let words = text.split(separator: " ")
        guard words.count == 5, let pid = Int64(words[3]) else { return (text, nil) }
        return (
            words[..<3].joined(separator: " "),
            ProcessIdentity(pid: pid, mark: "\(words[0]) \(words[1]) \(words[4])")
        )
    }

    /// Those whose claims hold.
    ///
    /// What any other has claimed runs no more, though the claim stands in the file until a broker takes it
    /// over.
    ///
    /// - Parameter own: The nonce of this process's store, which lives whatever its lease says.
    static func living(
        _ connection: Connection,
        own: Int64,
        seenFrom me: ProcessIdentity,
        at now: Timestamp
    ) throws(SQLiteError) -> [RunnerRow] {
        try all(connection).filter { $0.nonce == own || !$0.seemsGone(seenFrom: me, at: now) }
    }

    /// Their epochs, as a JSON array.
    static func epochs(_ rows: [RunnerRow]) -> String {
        "[\(rows.map { "\($0.epoch)" }.joined(separator: ","))]"
    }

    /// Whether it runs nothing any more: its process has ended, or has given no sign of life for as long as
    /// its lease.
    func hasGone(seenFrom me: ProcessIdentity, at now: Timestamp) -> Bool {
        hasEnded(seenFrom: me) || (isLeaseOver(at: now) && leftover(seenFrom: me) == nil)
    }

    /// Whether it runs nothing any more, for who does not take it off.
    ///
    /// One that is seen to live keeps what it has claimed until another one that runs the queues takes it
    /// off: it may only have waited for a lock.
    func seemsGone(seenFrom me: ProcessIdentity, at now: Timestamp) -> Bool {
        hasEnded(seenFrom: me)
            || (isLeaseOver(at: now) && process.lives(seenFrom: me) != true && leftover(seenFrom: me) == nil)
    }

    /// Whether its process has certainly ended, and all that its handlers had started.
    ///
    /// A process has one store on the file. What it finds of itself, but for its own row, an earlier store
    /// has left.
    func hasEnded(seenFrom me: ProcessIdentity) -> Bool {
        (process == me && !me.mark.isEmpty)
            || (process.isDead(seenFrom: me) && (mutant("keeper") || leftover(seenFrom: me) == nil))
    }

    /// Where its process has died: the keeper that still ends what that has started.
    func leftover(seenFrom me: ProcessIdentity) -> ProcessIdentity? {
        guard let keeper, process.isDead(seenFrom: me), keeper.lives(seenFrom: me) == true else { return nil }
        return keeper
    }

    func isLeaseOver(at now: Timestamp) -> Bool { lease.timeLeft(of: process, at: now) <= .zero }
}

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

/// What has become of the processes that run the queues.
package struct RunnerChanges: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// The others are not those that were there before.
    package static let others = RunnerChanges(rawValue: 1)
    /// Another one has gone, or goes: what it was to run is left to whoever looks for it.
    package static let look = RunnerChanges(rawValue: 2)
    /// This one was taken for dead: none of its claims holds any more.
    package static let takenOff = RunnerChanges(rawValue: 4)
}

/// What others than the writer's leader ask: as what this store runs the queues, and whether others do.
final class RunnerState: Sendable {
    private let currentEpoch = Atomic<Int64>(0)
    private let otherCount = Atomic(0)

    /// The epoch under which this store runs the queues; `nil` while it does not.
    var epoch: Int64? {
        let epoch = currentEpoch.load(ordering: .acquiring)
        return epoch == 0 ? nil : epoch
    }

    /// Whether other processes run them, as far as the writer knows.
    var hasOthers: Bool { otherCount.load(ordering: .acquiring) > 0 }

    func setEpoch(_ epoch: Int64?) { currentEpoch.store(epoch ?? 0, ordering: .releasing) }

    func setOtherCount(_ count: Int) { otherCount.store(count, ordering: .releasing) }
}
