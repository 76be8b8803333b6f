/// How a claim ended without a run.
package enum ClaimConclusion: Hashable, Sendable {
    /// There is nothing to run, or the queue is parked: only a wake changes that.
    case nothing
    /// Ask again at once.
    case unfinished
    case waiting(RetryWait, until: Duration)
    case lacksPermit(RouteID, limit: Int)
    /// The rate limit of this line allows the next start at that time.
    case lacksRate(RouteID, until: Duration)
    case awaitsTrial(CrashSuspect)
    /// There is no route for the head: a new route changes that, or a wake.
    case unroutable
    case gated(GateName)
    case held
    case takenElsewhere

    /// Whether a wake during the claim may have changed it; the others have the head checked again anyway.
    var isOutdatedByWake: Bool {
        switch self {
        case .nothing, .waiting, .unroutable, .gated, .held, .takenElsewhere, .lacksRate, .lacksPermit: true
        case .unfinished, .awaitsTrial: false
        }
    }

    /// Whether the queue keeps its turn at a rate limit: a suspect is claimed again for its trial, at once.
    var keepsTurn: Bool {
        switch self {
        case .lacksRate, .awaitsTrial: true
        default: false
        }
    }
}
