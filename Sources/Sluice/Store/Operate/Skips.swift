internal import SluiceSQLite

/// Skips the head of a queue for an operator: it becomes a dead letter, and the next one can run.
final class Skips: TransactionSubject {
    let core: TransactionCore
    let blocks: QueueBlocks
    let fronts: QueueFronts
    let failures: Failures

    init(_ core: TransactionCore, _ blocks: QueueBlocks, _ fronts: QueueFronts, _ failures: Failures) {
        (self.core, self.blocks, self.fronts, self.failures) = (core, blocks, fronts, failures)
    }

    func skipHead(
        of name: QueueName,
        only expected: ActionID?,
        error: String?,
        by discipline: QueueDiscipline?
    ) throws(SQLiteError) -> HeadSkip {
        guard let queue = try core.knownQueue(named: name)?.id else { return .empty }
        let parked = try connection.cached(Self.parkingAction).bind(1, queue.rawValue)
            .first { ActionID(rawValue: $0.int64(0)) }
        if let parked, !mutant("skip of what parked") {
            return try skip(parked, only: expected, of: queue, error: error)
        }
        let running = try connection.cached("SELECT action_id FROM sluice_claim_rows WHERE queue_id = ?1")
            .bind(1, queue.rawValue).first { ActionID(rawValue: $0.int64(0)) }
        if let running { return .running(running) }
        let next = try fronts.nextPlace(of: queue, by: fronts.discipline(of: queue, said: discipline))
        guard let next else { return .empty }
        return try skip(next.action, only: expected, of: queue, error: error)
    }

    private func skip(
        _ action: ActionID,
        only expected: ActionID?,
        of queue: QueueID,
        error: String?
    ) throws(SQLiteError) -> HeadSkip {
        if let expected, action != expected { return .other(action) }
        let lastError = try StateRow.read(action, in: core).lastError
        let cause = FailureCause.skipped.rawValue
        try failures.makeDeadLetter(action, of: queue, cause, error: error ?? lastError ?? cause)
        try blocks.liftBlock(of: action, in: queue)
        core.touch(queue)
        return .skipped(action)
    }

    /// Selects the action that has parked a queue; it need not be the next, and others may run beside it.
    private static let parkingAction: StaticString = """
        SELECT a.id FROM sluice_queue_rows AS q
        JOIN sluice_action_rows AS a ON a.id = q.blocked_action_id AND a.queue_id = q.queue_id
        WHERE q.queue_id = ?1 AND q.blocked_by NOT IN ('failing', 'unknown kind', 'no route', 'gate')
          AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows WHERE queue_id = q.queue_id AND action_id = a.id)
        """
}
