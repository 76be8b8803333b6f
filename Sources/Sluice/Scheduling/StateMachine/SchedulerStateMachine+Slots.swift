internal import DequeModule

/// Queues with several slots.
///
/// The phase of such a queue is that of its next claim: what has been claimed runs beside it, and as long as
/// slots are left the queue goes back into the line of ready queues. So a wake costs one claim that finds
/// nothing, however many slots there are.
extension SchedulerStateMachine {
    /// A claim is in the file: its run goes on beside the next claim of the queue.
    mutating func goBeside(_ queue: QueueID, claim: Int64, _ room: SlotRoom) {
        beside[claim] = queue
        if room == .more { makeReady(queue) } else { phases[queue] = .full }
    }

    /// The handler of a run beside others has returned.
    ///
    /// - Returns: The claim to make in the same transaction: the next ready queue's, or its own queue's when
    ///   no other is ready and nobody asks for it.
    mutating func finishingBeside(_ queue: QueueID, claim: Int64) -> ClaimOrder? {
        agenda.deadlines.remove(.attempt(claim))
        beside[claim] = nil
        settlingBeside.insert(claim)
        settling += 1
        endRun(claim)
        // Its permit goes to the next claim, or back.
        permitsInUse -= 1
        guard isOpen, !trial.isActive else { return nil }
        if let next = ready.popFirst() { return order(next) }
        return phases[queue] == .full ? order(queue) : nil
    }

    /// The outcome of a run beside others has been written: a slot is free, and its action may wait again.
    mutating func askAgain(_ queue: QueueID) {
        if phases[queue] == .full { makeReady(queue) } else { wake(queue) }
    }
}

/// Outcomes that were refused together with the claim that was to be made with them.
extension SchedulerStateMachine {
    /// The claim of a queue's own next action was not made: the outcome of its run is still to be written,
    /// and the queue is claimed again behind that.
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
