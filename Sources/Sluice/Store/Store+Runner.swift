internal import SluiceSQLite

/// Which processes run the queues: their rows, their leases, and what those that died left behind.
///
/// A queue is a process's own while one of its actions is claimed: the claim's row stands for the queue, and
/// the epoch in its number for the process. Settling and the next claim are one transaction, so that a
/// process keeps a queue while it has work for it, and a queue that waits is nobody's. What a process has to
/// renew is its own row alone.
extension Store {
    /// Becomes one of the processes that run the queues, and makes suspects of what dead ones left running.
    package func startRunning() async throws(SluiceError) {
        try await write(sync: .owed) {
            // Nothing runs: what an earlier run could not write is given up.
            $0.core.routeUse = RouteUse()
            try $0.registry.startRunning()
        }
    }

    /// Renews the right to run the queues, and takes those off that have lost it.
    ///
    /// One that was taken off itself, because it gave no sign of life for too long, begins anew.
    package func renewLease() async throws(SluiceError) {
        try await write(sync: .later) { try $0.registry.renewLease() }
    }

    /// The queues of actions that ran when their process died, with what speaks against them.
    func suspects() async throws(SluiceError) -> [(queue: QueueID, level: Int, crashes: Int)] {
        try await read { connection in
            try connection.cached(
                """
                SELECT a.queue_id, s.suspicion, s.crashes
                FROM sluice_state_rows AS s JOIN sluice_action_rows AS a ON a.id = s.action_id
                WHERE s.is_suspect = 1
                AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows AS c WHERE c.queue_id = a.queue_id)
                """
            )
            .all { (queue: QueueID(rawValue: $0.int64(0)), level: $0.int(1), crashes: $0.int(2)) }
        }
    }

    /// Writes that runs which were tried have not killed their process.
    func survived(_ claims: [Int64]) async throws(SluiceError) {
        try await write(sync: .later) { try $0.registry.survived(claims) }
    }

    /// Gives the right up, and leaves the queues to the others.
    package func stopRunning() async throws(SluiceError) {
        try await write(sync: .later) { try $0.registry.stopRunning() }
    }

    /// Has the others look for work, before this one stops.
    package func askOthersToLook() async throws(SluiceError) {
        try await write(sync: .later) { try $0.core.tellRunners("look") }
    }

    /// Takes off the processes that have died, and makes suspects of what they left running.
    ///
    /// While all live it writes nothing, and takes no lock.
    package func takeOffDead() async throws(SluiceError) {
        let (epoch, me, now) = (runners.epoch, identity, clock.now)
        let hasAnyGone = try await read { connection in
            try RunnerRow.all(connection).contains { $0.epoch != epoch && $0.hasGone(seenFrom: me, at: now) }
        }
        if hasAnyGone { try await write(sync: .later) { try $0.registry.takeOffDead() } }
    }
}
