internal import SQLite
internal import Synchronization

/// How long a process keeps its right to run queues without a sign of life, and how often it gives one.
package struct LeaseTimes: Sendable, Hashable {
    /// What a process is given that cannot be told dead.
    package var length: Duration = .seconds(30)
    /// A third of it, so that two renewals may fail.
    package var renewal: Duration = .seconds(10)
    /// How often a process looks whether the others live, while there are others.
    package var watch: Duration = .seconds(1)

    package init() {}
}

/// A process that runs the queues, as its row in the file has it.
struct RunnerRow: Sendable {
    let epoch: Int64
    let process: ProcessIdentity
    let leaseUntil: Timestamp
    /// By the time since the start of the machine.
    let leaseOnMachine: Int64?

    /// All of them, those first that have run queues longest.
    static func all(_ connection: Connection) throws(SQLiteError) -> [RunnerRow] {
        try connection.cached(
            """
            SELECT epoch, pid, process, lease_until_us, lease_until_boot_us
            FROM sluice_runner_rows ORDER BY epoch
            """
        )
        .all {
            RunnerRow(
                epoch: $0.int64(0),
                process: ProcessIdentity(pid: $0.int64(1), mark: $0.text(2)),
                leaseUntil: Timestamp(microseconds: $0.int64(3)),
                leaseOnMachine: $0.optionalInt64(4)
            )
        }
    }

    /// Whether it runs nothing any more: its process has ended, or has given no sign of life for as long as
    /// its lease.
    ///
    /// A process has one store on the file. What it finds of itself, but for its own row, an earlier store
    /// has left.
    func hasGone(seenFrom me: ProcessIdentity, at now: Timestamp) -> Bool {
        process == me || process.isDead(seenFrom: me) || isLeaseOver(seenFrom: me, at: now)
    }

    private func isLeaseOver(seenFrom me: ProcessIdentity, at now: Timestamp) -> Bool {
        if let end = leaseOnMachine, process.sharesMachine(with: me),
            let uptime = ProcessIdentity.machineUptime
        {
            return end <= uptime.wholeMicroseconds
        }
        return leaseUntil <= now
    }
}

/// What has become of the processes that run the queues.
package struct RunnerChanges: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// There are others, and they are not those that were there before.
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
