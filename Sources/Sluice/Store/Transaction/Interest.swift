package import Logging
internal import Synchronization

/// Whether anybody observes the store's events: without, none are collected, and a commit costs what it did.
package final class Interest: Sendable {
    private let count = Atomic(0)
    /// Queues whose observers ask for the actions themselves, and how many of them each has.
    private let queues = Mutex<[QueueName: Int]>([:])
    private let queueCount = Atomic(0)
    /// Others have committed since those observers were told so last.
    private let haveOthersCommitted = Atomic(false)

    /// The least level of the events that the log asks for, observers or not; `nil`: it asks for none.
    let logged: Logger.Level?

    /// - Parameter level: That of the logger.
    package init(loggingFrom level: Logger.Level = .critical) {
        logged = level <= .warning ? level : nil
    }

    package convenience init(_ logger: Logger) { self.init(loggingFrom: logger.logLevel) }

    /// An observer has come; transactions that begin from now on collect events.
    package func begin() { count.add(1, ordering: .acquiringAndReleasing) }

    /// An observer has gone.
    package func end() { count.subtract(1, ordering: .acquiringAndReleasing) }

    package var isAny: Bool { count.load(ordering: .acquiring) > 0 }

    /// An observer has come who asks for the actions of a queue; to be called before ``begin()``.
    func begin(contentsOf queue: QueueName) {
        queues.withLock { queues in
            queues[queue, default: 0] += 1
            queueCount.store(queues.count, ordering: .releasing)
            // What stands there by now has not come later.
            if queues.count == 1 { _ = takeCommitOfOthers() }
        }
    }

    func noteCommitOfOthers() { haveOthersCommitted.store(true, ordering: .releasing) }

    /// Whether others have committed since the last call.
    func takeCommitOfOthers() -> Bool {
        haveOthersCommitted.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// That observer has gone.
    func end(contentsOf queue: QueueName) {
        queues.withLock { queues in
            queues[queue] = queues[queue].flatMap { $0 > 1 ? $0 - 1 : nil }
            queueCount.store(queues.count, ordering: .releasing)
        }
    }

    /// What a transaction that begins now is to collect of the actions; `nil` where nobody asks for any.
    var contents: ObservedContents? {
        guard queueCount.load(ordering: .acquiring) > 0 else { return nil }
        return ObservedContents(queues: queues.withLock { Set($0.keys) })
    }
}
