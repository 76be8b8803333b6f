#if GRDB
internal import GRDB
internal import Sluice
internal import Synchronization

/// Has the broker copy the log behind what GRDB commits, and GRDB when there is no broker any more.
///
/// One for each writing connection that was told to leave the log to a broker. The broker's own commits are
/// followed by a copy when it is due; while it makes none, as one that does not run, GRDB's would make the
/// log longer and longer (G12).
final class LogObserver: TransactionObserver {
    /// Those that there are, by their connection, which keeps them.
    private static let all = Mutex<[ObjectIdentifier: Entry]>([:])

    /// It is set once and read on the queue of the connection, where GRDB calls the observer too.
    private final class Entry: @unchecked Sendable {
        private(set) weak var observer: LogObserver?

        init(_ observer: LogObserver) { self.observer = observer }
    }

    private let key: ObjectIdentifier
    private weak var broker: Broker?
    private var entry: Entry?
    /// What GRDB's own setting was.
    private let pages: Int

    private init(_ broker: Broker, _ database: Database, pages: Int) {
        (self.broker, self.pages) = (broker, pages)
        key = ObjectIdentifier(database)
    }

    deinit {
        Self.all.withLock { [key, entry] all in
            // Another connection may have the address by now.
            if all[key] === entry { all[key] = nil }
        }
    }

    /// Tells a connection to leave the log to a broker.
    static func leaveLog(of database: Database, to broker: Broker) throws {
        if let observer = all.withLock({ $0[ObjectIdentifier(database)] })?.observer {
            observer.broker = broker
            return
        }
        let pages = try Int.fetchOne(database, sql: "PRAGMA wal_autocheckpoint") ?? 0
        try database.set("wal_autocheckpoint", "0")
        let observer = LogObserver(broker, database, pages: pages)
        let entry = Entry(observer)
        observer.entry = entry
        all.withLock { [key = observer.key] in $0[key] = entry }
        database.add(transactionObserver: observer, extent: .databaseLifetime)
    }

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }

    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseDidRollback(_ db: Database) {}

    func databaseDidCommit(_ db: Database) {
        if let broker, broker.store.copiesLog { return broker.store.seeToLog() }
        do {
            try db.set("wal_autocheckpoint", String(pages))
            db.remove(transactionObserver: self)
            Self.all.withLock { $0[key] = nil }
        } catch {
            // It is tried again behind the next commit.
            return
        }
    }
}
#endif
