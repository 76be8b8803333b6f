/// What is to be done.
package enum SchedulerDecision: Hashable, Sendable {
    case claim([ClaimRequest])
    case timeOut(claim: Int64)
    case perform(Chore)
    /// Suspects are about to be claimed; `isLong`: all the time that is left is theirs.
    case beginTrial(isLong: Bool)
    /// These claims were tried, and their process lives.
    case survived([Int64])
    case becameIdle
    /// It was told to stop, and nothing runs any more.
    case stopped
}
