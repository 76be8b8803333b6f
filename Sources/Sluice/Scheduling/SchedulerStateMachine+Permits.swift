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
