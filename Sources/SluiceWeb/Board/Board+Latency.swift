#if Web
internal import Foundation
internal import Sluice

extension Board {
    /// How many queues the latency reads: where one runs its oldest action, the next may be newer.
    private static let latencyQueues = 20
    /// How many actions of a queue are read: all that run at the same time, and one that waits.
    private static let latencyActions = 50

    /// The age of the oldest action that waits in a queue that moves; one that runs waits no more.
    func waitingAge(at now: Date, _ broker: Broker) async -> Duration? {
        var oldest: Int64?
        for lane in moving(limit: Self.latencyQueues) {
            if let oldest, lane.oldest >= oldest { break }
            let first =
                lane.state == .running ? await firstWaiting(lane.status.queue, now, broker) : lane.oldest
            oldest = [oldest, first].compactMap(\.self).min()
        }
        return oldest.map { .microseconds(max(Self.microseconds(now) - $0, 0)) }
    }

    private func firstWaiting(_ queue: QueueName, _ now: Date, _ broker: Broker) async -> Int64? {
        let pattern = QueuePattern(queue.rawValue)
        // A queue that cannot be read has no part in the latency: the page says why elsewhere.
        guard let actions = try? await broker.actionOutlines(pattern, limit: Self.latencyActions) else {
            return nil
        }
        let due = actions.filter { action in
            action.runningSince == nil && (action.nextAttemptAt ?? action.notBefore ?? now) <= now
        }
        return due.map { Self.microseconds($0.enqueuedAt) }.min()
    }
}
#endif
