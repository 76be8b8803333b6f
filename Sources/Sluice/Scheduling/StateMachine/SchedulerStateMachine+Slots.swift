internal import DequeModule

/// Queues with several slots.
///
/// The phase of such a queue is that of its next claim. Its claimed actions run beside it, and while slots
/// are left, the queue returns to the line of ready queues. So a wake-up costs one claim that finds nothing,
/// however many slots there are.
extension SchedulerStateMachine {
    /// Records a committed claim, whose run continues beside the next claim of the queue.
    mutating func goBeside(_ queue: QueueID, claim: Int64, _ room: SlotRoom) {
        beside[claim] = queue
        if room == .more { makeReady(queue) } else { phases[queue] = .full }
    }

    /// Records that the handler of a run beside others has returned.
    ///
    /// - Returns: The claim to make in the same transaction: the next ready queue's, or its own queue's when
    ///   no other is ready and nobody asks for it.
    mutating func finishingBeside(_ queue: QueueID, claim: Int64) -> ClaimOrder? {
        agenda.deadlines.remove(.attempt(claim))
        beside[claim] = nil
        settlingBeside.insert(claim)
        settling += 1
        endRun(claim)
        // Its permit passes to the next claim, or is returned.
        permitsInUse -= 1
        guard isOpen, !trial.isActive else { return nil }
        if let next = ready.popFirst() { return order(next) }
        return phases[queue] == .full ? order(queue) : nil
    }

    /// Polls a queue when the outcome of a run beside others is written: a slot is free.
    mutating func askAgain(_ queue: QueueID) {
        if phases[queue] == .full { makeReady(queue) } else { wake(queue) }
    }
}

/// Outcomes that were refused together with the claim in their transaction.
extension SchedulerStateMachine {
    /// Withdraws the claim of a queue's own next action, to be made after its outcome is written.
    ///
    /// - Returns: `nil` where the queue has other slots: its next claim is to be made again by itself.
    package mutating func withdrawClaim(of queue: QueueID, behind claim: Int64) -> [SchedulerDecision]? {
        if settlingBeside.contains(claim) { return nil }
        precondition(isClaiming(queue), "a claim was withdrawn that was not under way")
        permitsInUse -= 1
        trial.left(queue)
        endCall(of: queue, hasTaken: nil)
        waits[queue] = nil
        phases[queue] = .settling
        settling += 1
        return decide()
    }
}
