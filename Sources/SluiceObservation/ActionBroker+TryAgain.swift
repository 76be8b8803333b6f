internal import Sluice

extension ActionBroker {
    /// Lets an action be tried now: its queue does not wait any more, or it is not a dead letter any more.
    func tryAgain(_ id: ActionID) async throws(SluiceError) {
        let state = try await action(id)
        switch state.phase {
        case .dead: try await requeue(id)
        case .scheduled: try await reschedule(id, notBefore: nil)
        case .waiting, .retrying, .parked:
            // What it waits for may be the head of its queue.
            if let queue = state.details?.queue { try await retryNow(QueuePattern(queue.rawValue)) }
        case .running, .ended: break
        }
    }
}
