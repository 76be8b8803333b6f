internal import Sluice

extension Broker {
    /// Lets an action be tried now: its queue does not wait any more, or it is not a dead letter any more.
    ///
    /// - Returns: Whether that has changed anything.
    func tryAgain(_ id: ActionID) async throws(SluiceError) -> Bool {
        let state = try await action(id)
        switch state.phase {
        case .dead: return try await requeue(id)
        case .scheduled: return try await reschedule(id, notBefore: nil) == .done
        case .waiting, .retrying, .parked:
            // What it waits for may be the head of its queue.
            guard let queue = state.details?.queue else { return false }
            return try await retryNow(QueuePattern(queue.rawValue)) > 0
        case .running, .ended: return false
        }
    }
}
