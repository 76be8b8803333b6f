/// What became of a claim.
package enum ClaimResult: Sendable {
    case claimed(ClaimedAction)
    /// Nothing waits in the queue's order.
    case empty
    /// The slot is taken.
    case taken
    /// Another process has taken it, and takes what comes next as long as there is anything to take.
    case takenElsewhere
    /// The head waits for its retry, until a time by the clock's uptime.
    case waiting(RetryWait, until: Duration)
    /// The queue's batch has not started: it does at that time, or when enough has come together.
    case gathering(RetryWait, until: Duration)
    /// The queue is parked.
    case parked
    /// A hold covers the queue.
    case held(HoldEnd)
    /// The head waits for a gate.
    case gated(GateName)
    /// There is no route for the head: for its kind, or for its queue at all.
    case unroutable
    /// As many of the route's handlers run as may.
    case lacksPermit(RouteID, limit: Int)
    /// The head ran when its process died, and waits for its trial.
    case awaitsTrial(CrashSuspect)
    /// Heads were removed or set aside, or actions became due, and there may be more: ask again.
    case unfinished
}
