internal import Synchronization

/// What the file refuses to take of queues, and with what words: only this process knows.
final class Refusals: Sendable {
    /// What is refused.
    enum Write: Hashable, Sendable {
        /// The claim of the queue's next action.
        case claim
        /// The outcome of a run, by its claim.
        case outcome(Int64)
        /// The place of a scheduled action that is due.
        case place(ActionID)
    }

    struct Refusal: Sendable {
        let error: SluiceError
        /// When it refused first, of the times that it has refused without taking it.
        let since: Timestamp
    }

    private let queues = Mutex<[QueueID: [Write: Refusal]]>([:])
    /// Whether there are any: asked for each write of a queue, and mostly there are none.
    private let isEmpty = Atomic(true)
    /// Another connection has kept the write lock for longer than a write waits.
    private let isLocked = Atomic(false)

    /// Something was not written.
    ///
    /// - Returns: Whether it was not refused before, and so is news.
    @discardableResult
    func note(_ write: Write, of queue: QueueID, _ error: SluiceError, at now: Timestamp) -> Bool {
        guard !error.endsBroker else { return false }
        // Who holds the lock is known to the writer, and for the whole file.
        if error.code == .databaseLocked { return !isLocked.exchange(true, ordering: .relaxed) }
        return change { queues in
            let known = queues[queue]?[write]
            queues[queue, default: [:]][write] = Refusal(error: error, since: known?.since ?? now)
            return known == nil
        }
    }

    /// Something was written, or is not to be any more.
    func clear(_ write: Write, of queue: QueueID) {
        if isLocked.load(ordering: .relaxed) { isLocked.store(false, ordering: .relaxed) }
        guard !isEmpty.load(ordering: .relaxed) else { return }
        change { Self.remove(write, of: queue, from: &$0) }
    }

    /// These scheduled actions, and no others, are due and have no place.
    ///
    /// - Returns: Queues of which something has changed.
    func keepPlaces(_ unplaced: [UnplacedAction], at now: Timestamp) -> Set<QueueID> {
        guard !unplaced.isEmpty || !isEmpty.load(ordering: .relaxed) else { return [] }
        let actions = Set(unplaced.map(\.action))
        var changed: Set<QueueID> = []
        change { queues in
            for (queue, refusals) in queues {
                for case .place(let action) in refusals.keys where !actions.contains(action) {
                    Self.remove(.place(action), of: queue, from: &queues)
                    changed.insert(queue)
                }
            }
            for one in unplaced where queues[one.queue]?[.place(one.action)] == nil {
                queues[one.queue, default: [:]][.place(one.action)] = Refusal(error: one.error, since: now)
                changed.insert(one.queue)
            }
        }
        return changed
    }

    /// Nothing is written any more.
    func clear() { change { $0 = [:] } }

    /// What has been refused for longest, of a queue.
    func refusal(of queue: QueueID) -> Refusal? {
        guard !isEmpty.load(ordering: .relaxed) else { return nil }
        return queues.withLock { $0[queue]?.values.min { $0.since < $1.since } }
    }

    private static func remove(
        _ write: Write,
        of queue: QueueID,
        from queues: inout [QueueID: [Write: Refusal]]
    ) {
        queues[queue]?[write] = nil
        if queues[queue]?.isEmpty == true { queues[queue] = nil }
    }

    private func change<Output: Sendable>(_ body: (inout [QueueID: [Write: Refusal]]) -> Output) -> Output {
        queues.withLock { queues in
            defer { isEmpty.store(queues.isEmpty, ordering: .relaxed) }
            return body(&queues)
        }
    }
}
