/// The result of a claim.
package enum ClaimResult: Sendable {
    case claimed(ClaimedAction)
    /// No action waits in the queue's order.
    case empty
    case taken
    /// Another process has the slot, and keeps claiming while it finds actions.
    case takenElsewhere
    /// The head waits for its retry, until a time by the clock's uptime.
    case waiting(RetryWait, until: Duration)
    /// The queue's batch starts at that time, or earlier if enough actions are enqueued.
    case gathering(RetryWait, until: Duration)
    case parked
    case held(HoldEnd)
    /// The gate is closed; `isRouted` says whether this broker has routes for the queue.
    case gated(GateName, isRouted: Bool)
    /// No route has the head's kind, or none has its queue.
    case unroutable
    case lacksPermit(RouteID, limit: Int)
    /// The rate limit with this line allows the next start at a time by the clock's uptime.
    case lacksRate(RouteID, until: Duration)
    /// The head ran when its process died, and waits for its trial.
    case awaitsTrial(CrashSuspect)
    /// Heads were removed or deferred, or actions became due, and there may be more: claim again.
    case unfinished
}
