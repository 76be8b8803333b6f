/// The writes of a queue handle, to which running, scheduled and deferred actions are not in the queue.
extension Store {
    /// Converts actions by `read`, or returns why one remains, so that an unreadable action is not lost.
    ///
    /// `read` is called in the transaction, perhaps more than once.
    func takeNext<Output: Sendable>(
        of queue: QueueName,
        limit: Int,
        by said: QueueDiscipline? = nil,
        _ read: @escaping @Sendable (StoredAction) -> Result<Output, SluiceError>
    ) async throws(SluiceError) -> Taking<Output> {
        try await write(sync: .owed) { try $0.handles.takeNext(of: queue, limit: limit, by: said, read) }
    }

    /// Stores actions that were taken out, in front of the waiting ones, all or none.
    func putBack(
        _ actions: [StoredAction],
        to queue: QueueName,
        by discipline: QueueDiscipline? = nil
    ) async throws(SluiceError) -> [ActionID] {
        try await write(sync: .owed) { try $0.handles.reinsert(actions, to: queue, by: discipline) }
    }

    /// Removes a batch; returns fewer than ``HandleOperations/clearBatchSize`` if none is left.
    func clear(_ queue: QueueName, through last: ActionID) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { try $0.handles.clear(queue, through: last) }
    }

    func cancel(_ action: ActionID, in queue: QueueName) async throws(SluiceError) -> ActionChange {
        try await write(sync: .owed) { try $0.handles.cancelInQueue(action, in: queue) }
    }

    /// Holds a queue, unless the holder already does.
    func stop(_ queue: QueueName, by holder: String, reason: String) async throws(SluiceError) {
        try await write(sync: .owed) { try $0.handles.stop(queue, by: holder, reason: reason) }
    }

    /// Ends the holder's hold of a queue, its wait for a retry and its parking.
    func start(_ queue: QueueName, by holder: String) async throws(SluiceError) {
        try await write(sync: .owed) { transaction in
            _ = try transaction.gatesAndHolds.endHolds(matching: QueuePattern(queue.rawValue), by: holder)
            _ = try transaction.waits.retryNow(.exact(queue))
        }
    }
}
