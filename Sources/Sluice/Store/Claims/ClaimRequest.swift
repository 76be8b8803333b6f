/// A request to claim the head of a queue.
package struct ClaimRequest: Hashable, Sendable {
    package let queue: QueueID
    /// A retry wait that has ended by the scheduler's clock, whatever the wall clock shows.
    package let waitedFor: RetryWait?
    package let trial: TrialRule

    package init(queue: QueueID, waitedFor: RetryWait? = nil, trial: TrialRule = .none) {
        (self.queue, self.waitedFor, self.trial) = (queue, waitedFor, trial)
    }
}
