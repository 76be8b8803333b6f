/// The status of one queue, also while it is empty.
final class SingleStatus: StateUpdateSource {
    private let queue: QueueName
    private let updates: StateObservation<StatusSource>

    init(_ queue: QueueName, _ updates: StateObservation<StatusSource>) {
        (self.queue, self.updates) = (queue, updates)
    }

    func next() async throws(SluiceError) -> QueueStatus? {
        guard let update = try await updates.next() else { return nil }
        return update.states.first ?? .empty(queue)
    }
}
