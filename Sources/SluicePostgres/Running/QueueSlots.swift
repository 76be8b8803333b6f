#if PostgreSQL
internal import Sluice

/// The queues whose handlers run in this process.
///
/// A worker that was taken off, and has registered again, can get an action whose earlier handler has not
/// returned yet here. The new claim waits for that (G3).
struct QueueSlots {
    struct Waiting {
        let action: ClaimedAction
        let route: Route
    }

    /// The claims whose handlers have not returned, by queue.
    private var running: [QueueName: Int64] = [:]
    private var waiting: [QueueName: Waiting] = [:]

    /// Takes the slot of the action's queue; returns whether the handler may start now.
    mutating func take(_ action: ClaimedAction, _ route: Route) -> Bool {
        if running[action.queue] != nil, !mutant("server slot") {
            waiting[action.queue] = Waiting(action: action, route: route)
            return false
        }
        running[action.queue] = action.receipt.claim
        return true
    }

    /// Notes that a handler has returned; returns what waits for that, which has the slot then.
    mutating func handlerReturned(_ action: ClaimedAction) -> Waiting? {
        guard running[action.queue] == action.receipt.claim else { return nil }
        let next = waiting.removeValue(forKey: action.queue)
        running[action.queue] = next?.action.receipt.claim
        return next
    }

    /// Gives up what waits, as others have it now; returns its claims.
    mutating func forgetWaiting() -> [ClaimedAction] {
        defer { waiting = [:] }
        return waiting.values.map(\.action)
    }
}
#endif
