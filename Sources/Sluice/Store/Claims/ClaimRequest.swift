/// What is asked of a queue: its head, for a run.
package struct ClaimRequest: Sendable {
    package let queue: QueueID
    /// A retry wait that is over by the scheduler's clock, whatever the wall clock says.
    package let waitedFor: RetryWait?
    /// What becomes of a head that ran when its process died.
    package let trial: TrialRule
    package let admission: Admission

    package init(
        queue: QueueID,
        waitedFor: RetryWait? = nil,
        trial: TrialRule = .none,
        admission: Admission
    ) {
        self.queue = queue
        self.waitedFor = waitedFor
        self.trial = trial
        self.admission = admission
    }
}
