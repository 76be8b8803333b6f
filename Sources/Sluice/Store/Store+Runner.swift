internal import SluiceSQLite

/// The processes that run the queues: their rows, their leases, and the removal of dead ones.
///
/// A process owns a queue while one of its actions is claimed: the row of the claim names the queue, and the
/// epoch in its number the process. A settling and the next claim are one transaction. So a process keeps a
/// queue while it has work, and a waiting queue has no owner. A process has to renew only its own row.
extension Store {
    /// Becomes one of the processes that run the queues, and makes suspects of the actions of dead ones.
    ///
    /// - Parameter routes: Returns the routes that others are to see; called in the transaction, so that none
    ///   of the process's changes gets lost.
    package func startRunning(
        showing routes: @escaping @Sendable () -> Set<ShownRoute> = { [] }
    ) async throws(SluiceError) {
        try await write(sync: .owed) {
            // Nothing runs: outcomes that an earlier run could not write are dropped.
            $0.core.routeUse = RouteUse()
            $0.registry.routes = routes()
            try $0.registry.startRunning()
        }
    }

    /// Shows others which routes this process has now.
    func showRoutes(_ routes: @escaping @Sendable () -> Set<ShownRoute>) async throws(SluiceError) {
        try await write(sync: .later) { try $0.registry.show(routes()) }
    }

    /// If this process was itself removed, since its lease had ended, it starts again.
    package func renewLease() async throws(SluiceError) {
        try await write(sync: .later) { try $0.registry.renewLease() }
    }

    /// The queues of actions that ran when their process died, unless they are parked or wait for a
    /// gate or a route: a claim meets such a suspect when it may go on.
    func suspects() async throws(SluiceError) -> [(queue: QueueID, level: Int, crashes: Int)] {
        try await read { connection in
            try connection.cached(
                """
                SELECT a.queue_id, s.suspicion, s.crashes
                FROM sluice_state_rows AS s JOIN sluice_action_rows AS a ON a.id = s.action_id
                WHERE s.is_suspect = 1
                  AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows AS c WHERE c.queue_id = a.queue_id)
                  AND NOT EXISTS (SELECT 1 FROM sluice_queue_rows AS q
                                  WHERE q.queue_id = a.queue_id AND q.blocked_by <> 'failing')
                """
            ).all { (queue: QueueID(rawValue: $0.int64(0)), level: $0.int(1), crashes: $0.int(2)) }
        }
    }

    /// Records that tried runs have not killed their process.
    func survived(_ claims: [Int64]) async throws(SluiceError) {
        try await write(sync: .later) { try $0.registry.survived(claims) }
    }

    package func stopRunning() async throws(SluiceError) {
        try await write(sync: .later) { try $0.registry.stopRunning() }
    }

    package func askOthersToLook() async throws(SluiceError) {
        try await write(sync: .later) { try $0.core.notifyRunners(.look) }
    }

    /// Removes processes that have died, and makes suspects of their running actions.
    ///
    /// While all live, it writes nothing and takes no lock.
    package func takeOffDead() async throws(SluiceError) {
        let (epoch, me, now) = (runners.epoch, identity, clock.now)
        let hasAnyGone = try await read { connection in
            try RunnerRow.all(connection).contains { $0.epoch != epoch && $0.hasGone(seenFrom: me, at: now) }
        }
        if hasAnyGone { try await write(sync: .later) { try $0.registry.takeOffDead() } }
    }

    /// Deletes the claims of processes that have certainly ended: an act then finds their actions waiting.
    ///
    /// A claim of a process that may live, or whose commands its keeper still ends, stays. If it finds none
    /// to delete, it writes nothing and takes no lock.
    func deleteClaimsOfEnded() async throws(SluiceError) {
        let isNeeded = try await read { [nonce, identity] connection in
            let ended = try RunnerRow.ended(connection, own: nonce, seenFrom: identity)
            guard !ended.isEmpty else { return false }
            return try connection.cached(
                "SELECT 1 FROM sluice_claim_rows WHERE claim >> 32 IN (SELECT value FROM json_each(?1))"
            ).bind(1, RunnerRow.epochs(ended)).hasRow()
        }
        if isNeeded { try await write(sync: .later) { try $0.registry.deleteClaimsOfEnded() } }
    }
}
