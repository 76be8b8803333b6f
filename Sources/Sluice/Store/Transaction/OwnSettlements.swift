internal import Synchronization

/// Remembers attempts settled by the application, committed or not, until their handlers have returned.
final class OwnSettlements: Sendable {
    struct Entry: Sendable {
        let claim: Int64
        let queue: QueueName
        let kind: String
        let number: Int
    }

    private let entries = Mutex<[ActionID: Entry]>([:])
    /// Read at each settling; usually zero.
    private let count = Atomic(0)
    private var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    func add(_ entry: Entry, of action: ActionID) { change { $0[action] = entry } }

    func entry(of receipt: Receipt) -> Entry? {
        if isEmpty { return nil }
        let entry = entries.withLock { $0[receipt.action] }
        return entry?.claim == receipt.claim ? entry : nil
    }

    /// Returns whether the application has settled an action that is deleted.
    func hasSettled(_ action: ActionID) -> Bool { !isEmpty && entries.withLock { $0[action] != nil } }
    /// Removes an action that another connection has deleted: its settling, if any, was rolled back before.
    func deleted(_ action: ActionID) { if !isEmpty { change { $0[action] = nil } } }

    func remove(_ receipt: Receipt) {
        if isEmpty { return }
        change { if $0[receipt.action]?.claim == receipt.claim { $0[receipt.action] = nil } }
    }

    private func change(_ body: (inout [ActionID: Entry]) -> Void) {
        entries.withLock { entries in
            body(&entries)
            count.store(entries.count, ordering: .releasing)
        }
    }
}
