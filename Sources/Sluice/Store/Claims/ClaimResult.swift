/// The result of a claim: a run, or why the head does not run now.
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

    /// Whether a wake during the claim may have changed it; the others have the head checked again anyway.
    var isOutdatedByWake: Bool {
        switch self {
        case .empty, .taken, .takenElsewhere, .waiting, .gathering, .parked, .held, .gated, .unroutable,
            .lacksPermit, .lacksRate:
            true
        case .claimed, .unfinished, .awaitsTrial: false
        }
    }

    /// Whether the queue keeps its turn at a rate limit: a suspect is claimed again for its trial, at once.
    var keepsTurn: Bool {
        switch self {
        case .lacksRate, .awaitsTrial: true
        case .claimed, .empty, .taken, .takenElsewhere, .waiting, .gathering, .parked, .held, .gated,
            .unroutable, .lacksPermit, .unfinished:
            false
        }
    }
}
