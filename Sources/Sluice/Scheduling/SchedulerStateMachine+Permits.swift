extension SchedulerStateMachine {
    /// From how many permits in use on outcomes are likely to come at the same time.
    ///
    /// With 2 queues whose handlers do nothing it costs a seventh of the rate to leave each commit to another
    /// thread, with 4 nothing, and with 8 and more it brings a fifth.
    private static let crowd = 8

    /// Whether so many handlers run and claims are made that they had better share their commits.
    var isCrowded: Bool { permitsInUse >= Self.crowd }
}

/// Who is asked again when a permit of a route is free.
extension SchedulerStateMachine {
    /// A permit is free: the next that lacks one is asked again.
    mutating func callNext(for route: RouteID) {
        while routes.isFree(route), let queue = routes.dequeue(for: route) {
            guard phases[queue] == .lackingPermit(route) else { continue }
            routes.call(queue, for: route)
            return makeReady(queue)
        }
    }

    /// A queue that was called and has not taken the permit, because its head is another one now, leaves it
    /// to the next.
    mutating func endCall(of queue: QueueID) {
        if let route = routes.endCall(of: queue) { callNext(for: route) }
    }
}
