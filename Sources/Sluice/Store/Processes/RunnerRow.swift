internal import SluiceSQLite

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
