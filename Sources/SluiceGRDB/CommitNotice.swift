#if GRDB
internal import GRDB
internal import Sluice
internal import Synchronization

/// Notifies a broker of a GRDB commit with enqueued actions, once for each transaction.
///
/// The broker's watch of the WAL would find the commit some milliseconds later; the notice is immediate, and
/// works without a watch. There is only one per transaction, since GRDB calls all its observers at each
/// statement.
final class CommitNotice: Sendable {
    private struct Key: Hashable {
        let broker: ObjectIdentifier
        let database: ObjectIdentifier
    }

    /// Open transactions whose end is awaited.
    private static let awaited = Mutex<Set<Key>>([])

    private let broker: Broker
    private let key: Key

    private init(_ broker: Broker, _ key: Key) {
        self.broker = broker
        self.key = key
    }

    /// GRDB releases it after the transaction, or with a connection that is released within one.
    deinit {
        Self.awaited.withLock { _ = $0.remove(key) }
    }

    /// Notifies the broker at the end of this transaction, and GRDB's observers of its changes.
    ///
    /// - Returns: Whether this is the first call for the transaction.
    @discardableResult
    static func give(to broker: Broker, of database: Database) -> Bool {
        let key = Key(broker: ObjectIdentifier(broker), database: ObjectIdentifier(database))
        guard awaited.withLock({ $0.insert(key).inserted }) else { return false }
        let notice = CommitNotice(broker, key)
        guard database.isWriting else { return false }
        database.afterNextTransaction(onCommit: { _ in notice.broker.fileEngine.lookForCommits() })
        database.notifyQueueChanges()
        return true
    }
}

extension Database {
    /// Whether GRDB will report the end of the open transaction.
    ///
    /// It refuses for a transaction that only reads. Nothing can be stored there, but an enqueue of no
    /// actions, or of one whose key is taken, is no error.
    fileprivate var isWriting: Bool {
        guard isInsideTransaction, !configuration.readonly else { return false }
        return (try? Bool.fetchOne(self, sql: "PRAGMA query_only")) == false
    }
}
#endif
