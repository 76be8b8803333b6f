internal import Synchronization

/// Attempts that the application has settled in transactions of its own, whether these have been committed or
/// not: the engine looks when the handler has returned.
final class OwnSettlements: Sendable {
    struct Entry: Sendable {
        let claim: Int64
        let queue: QueueName
        let kind: String
        /// The attempt's number.
        let number: Int
    }

    private let entries = Mutex<[ActionID: Entry]>([:])
    /// Read for each settling; mostly there are none.
    private let count = Atomic(0)

    func add(_ entry: Entry, of action: ActionID) {
        entries.withLock { entries in
            entries[action] = entry
            count.store(entries.count, ordering: .releasing)
        }
    }

    /// What is known of a run, if the application has settled it.
    func entry(of receipt: Receipt) -> Entry? {
        guard count.load(ordering: .acquiring) > 0 else { return nil }
        let entry = entries.withLock { $0[receipt.action] }
        return entry?.claim == receipt.claim ? entry : nil
    }

    /// Whether an action that is gone was settled so.
    func hasSettled(_ action: ActionID) -> Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        return entries.withLock { $0[action] != nil }
    }

    /// Somebody has deleted an action: its settling, if there was one, was rolled back before.
    func deleted(_ action: ActionID) {
        guard count.load(ordering: .acquiring) > 0 else { return }
        entries.withLock { entries in
            entries[action] = nil
            count.store(entries.count, ordering: .releasing)
        }
    }

    /// The run has come to its end in the file.
    func remove(_ receipt: Receipt) {
        guard count.load(ordering: .acquiring) > 0 else { return }
        entries.withLock { entries in
            if entries[receipt.action]?.claim == receipt.claim { entries[receipt.action] = nil }
            count.store(entries.count, ordering: .releasing)
        }
    }
}
