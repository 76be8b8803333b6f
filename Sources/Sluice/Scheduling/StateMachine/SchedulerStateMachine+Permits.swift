internal import DequeModule

extension SchedulerStateMachine {
    /// The number of permits in use from which outcomes are likely to coincide.
    ///
    /// With 2 queues whose handlers do nothing, leaving each commit to another thread costs a seventh of the
    /// rate. With 4 it costs nothing, and with 8 and more it gains a fifth.
    private static let crowd = 8

    /// Whether so many handlers run and claims are made that their commits should be shared.
    var isCrowded: Bool { permitsInUse >= Self.crowd }

    func readiness(of queue: QueueID) -> QueueReadiness {
        switch phases[queue] {
        case .lackingPermit: .lacksRoutePermit
        case .suspect: .awaitsTrial
        case .ready where trial.isActive: .awaitsTrial
        case .ready where permitsInUse >= concurrency: .lacksPermit
        default: .free
        }
    }

    // MARK: - The permits of routes

    /// A handler has returned: with its outcome its route's permit goes to the next that lacks one.
    mutating func endRun(_ claim: Int64) {
        if let route = lines.ends(claim) { callNext(for: route) }
    }

    /// Passes on a permit of a route when the outcome is written, to a queue that has asked for it since.
    mutating func endedRun(_ claim: Int64) {
        if let route = lines.ended(claim) { callNext(for: route) }
    }

    /// Passes on the permit of a called queue that has not used it, because it has another head now.
    mutating func endCall(of queue: QueueID, hasTaken taken: RouteID?) {
        if let route = lines.endCall(of: queue), route != taken { callNext(for: route) }
    }

    private mutating func callNext(for route: RouteID) {
        while let queue = lines.call(for: route) {
            guard phases[queue] == .lackingPermit(route) else {
                _ = lines.endCall(of: queue)
                continue
            }
            // Before the others, which may need the permit too: it is used in the transaction that frees it.
            phases[queue] = .ready
            return ready.prepend(queue)
        }
    }
}
