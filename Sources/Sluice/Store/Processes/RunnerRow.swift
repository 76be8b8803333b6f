internal import SluiceSQLite

/// The row of a process that runs the queues.
struct RunnerRow: Sendable {
    let epoch: Int64
    let process: ProcessIdentity
    /// The process that ends programs started by this one, if this one dies.
    let keeper: ProcessIdentity?
    let nonce: Int64
    let lease: LeaseEnd

    static func all(_ connection: Connection) throws(SQLiteError) -> [RunnerRow] {
        try connection.cached(
            """
            SELECT epoch, pid, process, nonce, lease_until_us, lease_until_boot_us
            FROM sluice_runner_rows ORDER BY epoch
            """
        )
        .all {
            let (mark, keeper) = marks(in: $0.text(2))
            let process = ProcessIdentity(pid: $0.int64(1), mark: mark)
            let (nonce, lease) = ($0.int64(3), LeaseEnd($0.int64(4), $0.optionalInt64(5)))
            return RunnerRow(epoch: $0.int64(0), process: process, keeper: keeper, nonce: nonce, lease: lease)
        }
    }

    /// Returns the text of the column `process`: its mark, then pid and start of a keeper in its namespace.
    static func text(_ process: ProcessIdentity, keptBy keeper: ProcessIdentity?) -> String {
        guard let keeper, keeper.sharesMachine(with: process) else { return process.mark }
        return "\(process.mark) \(keeper.pid) \(keeper.mark.split(separator: " ")[2])"
    }

    private static func marks(in text: String) -> (process: String, keeper: ProcessIdentity?) {
        let words = text.split(separator: " ")
        guard words.count == 5, let pid = Int64(words[3]) else { return (text, nil) }
        let keeper = ProcessIdentity(pid: pid, mark: "\(words[0]) \(words[1]) \(words[4])")
        return (words[..<3].joined(separator: " "), keeper)
    }

    /// Returns the rows of processes whose claims are valid, also the one of the nonce `own`, whatever its
    /// lease shows; other claims remain in the file until a broker removes them.
    static func living(
        _ connection: Connection,
        own: Int64,
        seenFrom me: ProcessIdentity,
        at now: Timestamp
    ) throws(SQLiteError) -> [RunnerRow] {
        try all(connection).filter { $0.nonce == own || !$0.seemsGone(seenFrom: me, at: now) }
    }

    /// Returns the rows of processes that have certainly ended, with their programs.
    static func ended(
        _ connection: Connection,
        own: Int64,
        seenFrom me: ProcessIdentity
    ) throws(SQLiteError) -> [RunnerRow] {
        try all(connection).filter { $0.nonce != own && $0.hasEnded(seenFrom: me) }
    }

    static func epochs(_ rows: [RunnerRow]) -> String {
        "[\(rows.map { "\($0.epoch)" }.joined(separator: ","))]"
    }

    /// Returns whether it runs nothing any more: its process has ended, or its lease has.
    ///
    /// A stopped process, as after Ctrl-Z, does not renew its lease, and the programs that it started run on:
    /// as long as their keeper lives, they may.
    func hasGone(seenFrom me: ProcessIdentity, at now: Timestamp) -> Bool {
        hasEnded(seenFrom: me) || (isLeaseOver(seenFrom: me, at: now) && !isKept(seenFrom: me))
    }

    /// Like ``hasGone(seenFrom:at:)``, for a process that does not remove it: one seen alive keeps its claims
    /// until a runner removes it, as it may only have waited for a lock.
    func seemsGone(seenFrom me: ProcessIdentity, at now: Timestamp) -> Bool {
        hasEnded(seenFrom: me)
            || (isLeaseOver(seenFrom: me, at: now) && process.lives(seenFrom: me) != true
                && !isKept(seenFrom: me))
    }

    /// Returns whether the keeper lives that starts and ends programs for this process.
    private func isKept(seenFrom me: ProcessIdentity) -> Bool {
        keeper?.lives(seenFrom: me) == true && !mutant("keeper of a stopped process")
    }

    /// Returns whether its process has certainly ended, with all programs that its handlers had started.
    func hasEnded(seenFrom me: ProcessIdentity) -> Bool {
        // A process has one store on the file: another row of this process is left from an earlier store.
        (process == me && !me.mark.isEmpty)
            || (process.isDead(seenFrom: me) && (mutant("keeper") || leftover(seenFrom: me) == nil))
    }

    /// If its process has died, returns the keeper that still ends programs started by it.
    func leftover(seenFrom me: ProcessIdentity) -> ProcessIdentity? {
        guard let keeper, process.isDead(seenFrom: me), keeper.lives(seenFrom: me) == true else { return nil }
        return keeper
    }

    func isLeaseOver(seenFrom me: ProcessIdentity, at now: Timestamp) -> Bool {
        lease.timeLeft(of: process, seenFrom: me, at: now) <= .zero
    }
}
