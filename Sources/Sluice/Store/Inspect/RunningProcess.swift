internal import SluiceSQLite

/// A process that runs the queues, as far as the file shows.
package struct RunningProcess: Sendable {
    package let pid: Int64
    package let leaseUntil: Timestamp
    /// Whether its lease has ended, by the machine's uptime if that applies.
    package let isLeaseOver: Bool
    /// `nil` if the system gives no answer.
    package let lives: Bool?
    /// The number of actions that it runs, or ran when it ended.
    package let runningCount: Int
    /// If it has died, the process that still ends programs started by its handlers.
    package var keeper: Int64?
    package var isDead: Bool { lives == false }

    static func all(_ connection: Connection, at now: Timestamp) throws(SQLiteError) -> [RunningProcess] {
        let epochs = try connection.cached("SELECT claim >> 32 FROM sluice_claim_rows").all { $0.int64(0) }
        let me = ProcessIdentity.current
        return try RunnerRow.all(connection).map { row in
            RunningProcess(
                pid: row.process.pid,
                leaseUntil: row.lease.wall,
                isLeaseOver: row.isLeaseOver(seenFrom: me, at: now),
                lives: row.process.lives(seenFrom: me),
                runningCount: epochs.count { $0 == row.epoch },
                keeper: row.leftover(seenFrom: me)?.pid
            )
        }
    }
}
