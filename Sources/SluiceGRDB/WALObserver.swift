#if GRDB
internal import GRDB
internal import Sluice
internal import Synchronization

/// Makes the broker copy the WAL after GRDB's commits, or GRDB itself when the broker is gone.
///
/// There is one for each writing connection that leaves checkpoints to a broker. A broker copies the WAL
/// after its own commits. If it makes none, such as when it does not run, GRDB's commits would let the WAL
/// grow without limit (G12).
final class WALObserver: TransactionObserver {
    /// All observers by their connections, which keep them alive.
    private static let all = Mutex<[ObjectIdentifier: Entry]>([:])

    /// Set once, and read on the connection's queue, where GRDB calls the observer too.
    private final class Entry: @unchecked Sendable {
        private(set) weak var observer: WALObserver?

        init(_ observer: WALObserver) { self.observer = observer }
    }

    private let key: ObjectIdentifier
    private weak var broker: Broker?
    private var entry: Entry?
    /// GRDB's own setting.
    private let pages: Int

    private init(_ broker: Broker, _ database: Database, pages: Int) {
        (self.broker, self.pages) = (broker, pages)
        key = ObjectIdentifier(database)
    }

    deinit {
        Self.all.withLock { [key, entry] all in
            // Another connection may already have the same address.
            if all[key] === entry { all[key] = nil }
        }
    }

    /// Makes a connection leave checkpoints to a broker.
    static func leaveWAL(of database: Database, to broker: Broker) throws {
        if let observer = all.withLock({ $0[ObjectIdentifier(database)] })?.observer {
            observer.broker = broker
            return
        }
        let pages = try Int.fetchOne(database, sql: "PRAGMA wal_autocheckpoint") ?? 0
        try database.set("wal_autocheckpoint", "0")
        let observer = WALObserver(broker, database, pages: pages)
        let entry = Entry(observer)
        observer.entry = entry
        all.withLock { [key = observer.key] in $0[key] = entry }
        database.add(transactionObserver: observer, extent: .databaseLifetime)
    }

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }

    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseDidRollback(_ db: Database) {}

    func databaseDidCommit(_ db: Database) {
        if let broker, broker.fileEngine.store.checkpointsWAL { return broker.fileEngine.store.checkWAL() }
        do {
            try db.set("wal_autocheckpoint", String(pages))
            db.remove(transactionObserver: self)
            Self.all.withLock { $0[key] = nil }
        } catch {
            // It is tried again after the next commit.
            return
        }
    }
}
#endif
