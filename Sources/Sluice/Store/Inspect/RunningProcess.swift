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
        let counts = try connection.cached(
            "SELECT claim >> 32, count(*) FROM sluice_claim_rows GROUP BY claim >> 32"
        ).all { ($0.int64(0), $0.int(1)) }
        let running = Dictionary(counts) { first, _ in first }
        let me = ProcessIdentity.current
        return try RunnerRow.all(connection).map {
            RunningProcess(
                pid: $0.process.pid,
                leaseUntil: $0.lease.wall,
                isLeaseOver: $0.isLeaseOver(at: now),
                lives: $0.process.lives(seenFrom: me),
                runningCount: running[$0.epoch] ?? 0,
                keeper: $0.leftover(seenFrom: me)?.pid
            )
        }
    }
}
