/// How a claim handles a head that ran when its process died (``CrashTrial``).
package enum TrialRule: Hashable, Sendable {
    /// Such heads start beside others.
    case none
    /// Such heads start beside others, unless more processes have ended than the scheduler knows of.
    case over(deaths: Int)
    /// Such a head waits for its trial.
    case waits
    /// The queue's head is tried, together with the heads of `size` - 1 other queues.
    case tries(size: Int)
}
