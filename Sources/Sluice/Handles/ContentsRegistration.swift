internal import Synchronization

/// A registration for the actions of a queue's events, which ends once.
final class ContentsRegistration: Sendable {
    private let interest: Interest
    private let queue: QueueName
    private let hasEnded = Atomic(false)

    init(_ interest: Interest, _ queue: QueueName) {
        self.interest = interest
        self.queue = queue
        interest.begin(contentsOf: queue)
    }

    func end() { if !hasEnded.exchange(true, ordering: .relaxed) { interest.end(contentsOf: queue) } }
}
