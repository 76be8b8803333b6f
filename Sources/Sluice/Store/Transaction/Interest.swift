package import Logging
internal import Synchronization

/// Counts the store's observers, without whom no events are collected, and the queues that they ask for.
package final class Interest: Sendable {
    private let count = Atomic(0)
    /// Queues whose observers ask for the actions themselves, with the number of those observers.
    private let queues = Mutex<[QueueName: Int]>([:])
    /// Observers who are notified of commits of other connections.
    private let observersOfOthers = Atomic(0)
    /// Whether other connections have committed since those observers were last notified of it.
    private let haveOthersCommitted = Atomic(false)
    /// Whether something may have changed of which no event says which action.
    private let isAnyUntold = Atomic(false)
    /// The least level of the events that the logger asks for; `nil` if it asks for none.
    let logged: Logger.Level?

    package init(loggingFrom level: Logger.Level = .critical) { logged = level <= .warning ? level : nil }
    package convenience init(_ logger: Logger) { self.init(loggingFrom: logger.logLevel) }
    /// Adds an observer; transactions that begin after this collect events.
    package func begin() { count.add(1, ordering: .acquiringAndReleasing) }
    package func end() { count.subtract(1, ordering: .acquiringAndReleasing) }
    package var isAny: Bool { count.load(ordering: .acquiring) > 0 }

    /// Adds an observer that asks for the actions of a queue; call it before ``begin()``.
    func begin(contentsOf queue: QueueName) {
        queues.withLock { queues in
            queues[queue, default: 0] += 1
            // Earlier commits of other connections do not count, unless somebody waits to hear of them.
            if queues.count == 1 && !asksForOthers { _ = takeCommitOfOthers() }
        }
    }

    /// Adds an observer who is notified of commits of other connections.
    func beginCommitsOfOthers() { observersOfOthers.add(1, ordering: .acquiringAndReleasing) }
    func endCommitsOfOthers() { observersOfOthers.subtract(1, ordering: .acquiringAndReleasing) }
    /// Whether the file is polled for commits of others that no event describes.
    var asksForOthers: Bool { observersOfOthers.load(ordering: .acquiring) > 0 }

    /// Records that something may have changed of which no event says which action.
    func noteUntoldChange() { isAnyUntold.store(true, ordering: .releasing) }

    /// Returns whether something may have changed since the last call of which no event says which action.
    func takeUntoldChange() -> Bool { isAnyUntold.exchange(false, ordering: .acquiringAndReleasing) }

    func noteCommitOfOthers() { haveOthersCommitted.store(true, ordering: .releasing) }

    /// Returns whether other connections have committed since the last call.
    func takeCommitOfOthers() -> Bool {
        haveOthersCommitted.exchange(false, ordering: .acquiringAndReleasing)
    }

    func end(contentsOf queue: QueueName) {
        queues.withLock { queues in queues[queue] = queues[queue].flatMap { $0 > 1 ? $0 - 1 : nil } }
    }

    /// The actions that a transaction beginning now is to collect; `nil` if no observer asks for any.
    var contents: ObservedContents? {
        let names = queues.withLock { Set($0.keys) }
        return names.isEmpty ? nil : ObservedContents(queues: names)
    }
}
