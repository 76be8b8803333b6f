internal import Logging
internal import SluiceSQLite

/// The clearing of the WAL after a failed sync.
extension GroupCommitter {
    /// Notes that a sync failed: its pages may be lost, and with them all later ones of the WAL.
    ///
    /// The WAL is cleared at once if nobody is in the way, as other processes may commit too.
    func syncFailed() {
        clearing.isDue = true
        do {
            try connection.endLeftover()
            guard try !clearWAL(within: .zero) else { return }
            logger.warning("a sync failed, and the WAL stays: readers are in the way")
        } catch { logger.warning("a sync failed, and the WAL stays", metadata: ["error": "\(error)"]) }
    }

    /// Copies and truncates the WAL; returns `false` if readers have kept it from that.
    ///
    /// While it waits for readers it holds the write lock half of the time at most, from write to write:
    /// longer each time, as idle processes of the engine must find it waiting for their pins.
    func clearWAL(within timeout: Duration) throws -> Bool {
        try restoreSynchronous()
        let deadline = place.now + timeout
        while true {
            let rest = min(clearing.startsAt, deadline) - place.now
            if rest > .zero { connection.pause(rest) }
            let wait = clearing.wait(within: timeout, left: deadline - place.now)
            connection.setBusyTimeout(wait)
            let result = try checkingOthers {
                try withReserve {
                    try walGuard?.truncate(within: wait) ?? connection.checkpoint(.truncate)
                }
            }
            guard result.wasBlocked else { break }
            clearing.wasBlocked(for: wait, until: place.now, isRefused: result.wasRefused)
            guard clearing.startsAt < deadline else { return false }
            if result.wasRefused, let walGuard { try checkingOthers(walGuard.yieldWhenRefused) }
        }
        // The checkpoint synced the failed commit's pages: if the cut is undone, recovery finds them.
        if !mutant("synced cut") { try connection.syncWAL() }
        clearing = WALClearing(isInherited: false)
        return true
    }

    /// Clears a WAL that others have left, before a commit to it is acknowledged (G1).
    ///
    /// The system reports a failed sync only to processes that have the file open at that time.
    func clearInheritedWAL() throws {
        clearing.isInherited = false
        guard !mutant("inherited log") else { return }
        let core = transaction.core
        let isShared = try RunnerRow.all(connection).contains {
            $0.nonce != core.nonce && $0.process.lives(seenFrom: core.identity) == true
                && !$0.hasEnded(seenFrom: core.identity)
        }
        // A process that lives and runs the queues has heard of it. A reader may stay for long.
        guard !isShared else { return }
        // If this throws, a sync may be the reason.
        clearing.isDue = true
        if try !clearWAL(within: .zero) { clearing.isDue = false }
    }

    /// Does what looks for checkpoints of others, which turns syncs off in between.
    func checkingOthers<Output>(_ body: () throws -> Output) throws -> Output {
        do { return try body() } catch {
            mustSetSynchronous = true
            throw error
        }
    }
}
