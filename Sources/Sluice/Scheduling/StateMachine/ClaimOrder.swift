/// A claim to be made.
package struct ClaimOrder: Hashable, Sendable {
    package let queue: QueueID
    /// The retry wait that is over.
    package let waitedFor: RetryWait?
    package let trial: TrialRule
}
