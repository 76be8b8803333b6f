/// What the handle of a queue writes. See `Store+HandleReading` for what it reads.
///
/// To a handle the queue is what waits in its order, the next to start first: not what runs, and not what is
/// scheduled for later or stands aside.
extension Store {
    /// Takes the first actions out of a queue, durably when it returns.
    ///
    /// - Parameters:
    ///   - discipline: What code says of the queue's; `nil` is what the file tells.
    ///   - read: Makes something of an action, or says why it stays; called in the transaction, perhaps
    ///     more than once, so that what cannot be read is not lost.
    func takeNext<Output: Sendable>(
        of queue: QueueName,
        limit: Int,
        by discipline: QueueDiscipline? = nil,
        _ read: @escaping @Sendable (StoredAction) -> Result<Output, SluiceError>
    ) async throws(SluiceError) -> Taking<Output> {
        try await write(sync: .owed) {
            try $0.handles.takeNext(of: queue, limit: limit, by: discipline, read)
        }
    }

    /// Stores actions that were taken out again, in front of what waits, all or none.
    func putBack(
        _ actions: [StoredAction],
        to queue: QueueName,
        by discipline: QueueDiscipline? = nil
    ) async throws(SluiceError) -> [ActionID] {
        try await write(sync: .owed) { try $0.handles.reinsert(actions, to: queue, by: discipline) }
    }

    /// Removes a batch of what waits or is scheduled in a queue and is not newer than an action.
    ///
    /// - Returns: How many have gone; fewer than ``clearBatchSize`` when none is left.
    func clear(_ queue: QueueName, through last: ActionID) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { try $0.handles.clear(queue, through: last) }
    }

    /// Cancels an action, if it stands in a queue.
    func cancel(_ action: ActionID, in queue: QueueName) async throws(SluiceError) -> CancelResult {
        try await write(sync: .owed) { try $0.handles.cancelInQueue(action, in: queue) }
    }

    /// Holds a queue, unless the holder has it held.
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
