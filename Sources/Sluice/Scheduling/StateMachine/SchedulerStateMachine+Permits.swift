internal import DequeModule

extension SchedulerStateMachine {
    /// From how many permits in use on outcomes are likely to come at the same time.
    ///
    /// With 2 queues whose handlers do nothing it costs a seventh of the rate to leave each commit to another
    /// thread, with 4 nothing, and with 8 and more it brings a fifth.
    private static let crowd = 8

    /// Whether so many handlers run and claims are made that they had better share their commits.
    var isCrowded: Bool { permitsInUse >= Self.crowd }

    // Who is asked again when a permit of a route is free.

    /// A handler has returned: with its outcome its route's permit goes to the next that lacks one.
    mutating func endRun(_ claim: Int64) {
        if let route = lines.ends(claim) { callNext(for: route) }
    }

    /// Its outcome has been written: who lacked its permit in the meantime is called now.
    mutating func endedRun(_ claim: Int64) {
        if let route = lines.ended(claim) { callNext(for: route) }
    }

    private mutating func callNext(for route: RouteID) {
        while let queue = lines.call(for: route) {
            guard phases[queue] == .lackingPermit(route) else {
                _ = lines.endCall(of: queue)
                continue
            }
            // Before the others, which may want the permit too: it goes with the outcome that gives it back.
            phases[queue] = .ready
            return ready.prepend(queue)
        }
    }

    /// A queue that was called and has not taken the permit, because its head is another one now, leaves it
    /// to the next.
    mutating func endCall(of queue: QueueID, hasTaken taken: RouteID?) {
        if let route = lines.endCall(of: queue), route != taken { callNext(for: route) }
    }
}
