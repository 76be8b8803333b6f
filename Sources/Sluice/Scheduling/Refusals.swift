internal import Synchronization

/// The queues whose claims or outcomes the file refuses, with what it says: only this process knows.
final class Refusals: Sendable {
    struct Refusal: Sendable {
        let error: SluiceError
        /// When it refused first, of the times that it has refused since it last took a write.
        let since: Timestamp
    }

    private let queues = Mutex<[QueueID: Refusal]>([:])
    /// Whether there are any: asked for each write of a queue, and mostly there are none.
    private let isEmpty = Atomic(true)

    /// A claim or an outcome was not written.
    func note(_ queue: QueueID, _ error: SluiceError, at now: Timestamp) {
        // Who holds the lock is known to the writer, and for the whole file.
        guard error.code != .databaseLocked, !error.endsBroker else { return }
        queues.withLock { queues in
            queues[queue] = Refusal(error: error, since: queues[queue]?.since ?? now)
            isEmpty.store(false, ordering: .relaxed)
        }
    }

    /// A claim or an outcome was written.
    func clear(_ queue: QueueID) {
        guard !isEmpty.load(ordering: .relaxed) else { return }
        queues.withLock { queues in
            queues[queue] = nil
            isEmpty.store(queues.isEmpty, ordering: .relaxed)
        }
    }

    /// Nothing is claimed any more.
    func clear() {
        queues.withLock { queues in
            queues = [:]
            isEmpty.store(true, ordering: .relaxed)
        }
    }

    func refusal(of queue: QueueID) -> Refusal? { queues.withLock { $0[queue] } }
}
