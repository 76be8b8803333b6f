/// What is known of an active queue.
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
}
