#if GRDB
internal import GRDB
internal import Sluice
internal import Synchronization

/// Tells a broker that GRDB has committed what was enqueued, once for each transaction.
///
/// The broker's watch of the log would find it too, some milliseconds later; this does not wait for it, and
/// works where there is no watch. One for each transaction, as GRDB asks all its observers at each statement.
final class CommitNotice: Sendable {
    private struct Key: Hashable {
        let broker: ObjectIdentifier
        let database: ObjectIdentifier
    }

    /// Transactions under way whose end is awaited.
    private static let awaited = Mutex<Set<Key>>([])

    private let broker: Broker
    private let key: Key

    private init(_ broker: Broker, _ key: Key) {
        self.broker = broker
        self.key = key
    }

    /// GRDB drops it when the transaction has ended, and also with a connection that is dropped within one.
    deinit {
        Self.awaited.withLock { _ = $0.remove(key) }
    }

    /// Has the broker be told of the end of this transaction, and GRDB's observers of what it has changed.
    ///
    /// - Returns: Whether that had not been seen to before.
    @discardableResult
    static func give(to broker: Broker, of database: Database) -> Bool {
        let key = Key(broker: ObjectIdentifier(broker), database: ObjectIdentifier(database))
        guard awaited.withLock({ $0.insert(key).inserted }) else { return false }
        let notice = CommitNotice(broker, key)
        guard database.isWriting else { return false }
        database.afterNextTransaction(onCommit: { _ in notice.broker.lookForCommits() })
        database.notifyQueueChanges()
        return true
    }
}

extension Database {
    /// Whether a transaction is under way that GRDB tells the end of.
    ///
    /// It refuses to do so for one that only reads, in which nothing can be stored; but an enqueue of nothing
    /// is no error there, nor one whose key is taken.
    fileprivate var isWriting: Bool {
        guard isInsideTransaction, !configuration.readonly else { return false }
        return (try? Bool.fetchOne(self, sql: "PRAGMA query_only")) == false
    }
}
#endif
