/// The state of a queue with work in the scheduler; one with nothing to do, or parked, has none.
enum QueuePhase: Equatable {
    case ready
    /// Its head is being claimed. `wasWoken`: what the claim finds may be out of date already.
    case claiming(wasWoken: Bool)
    case running
    /// It has several slots, and as many of its actions run as may.
    case full
    /// Its handler has returned, and that is being written. Another queue's claim goes with it.
    case settling
    /// Its head waits until a deadline, which is valid while its number is this one.
    case waiting(RetryWait, until: Duration, deadline: Int)
    case lackingPermit(RouteID)
    /// It waits in the line of a rate limit; the queue that has the turn waits for the time.
    case lackingRate(RouteID)
    case suspect
    /// It is not claimed until somebody changes something.
    case blocked(Block)

    /// What keeps a queue from moving until somebody, or a time, takes it away.
    enum Block: Equatable {
        case route
        /// The scheduler has its name apart: a phase that held a text would be copied with reference counts.
        case gate
        case hold
        /// Another process runs its actions, one after the other.
        case taken
    }

    var block: Block? { if case .blocked(let block) = self { block } else { nil } }
}
