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

    /// GRDB calls its observers, and those who change the broker, on the connection's own queue.
    private struct Entry: @unchecked Sendable {
        weak var observer: LogObserver?
        let id: ObjectIdentifier
    }

    private let key: ObjectIdentifier
    private weak var broker: Broker?
    /// What GRDB's own setting was.
    private let pages: Int

    private init(_ broker: Broker, _ database: Database, pages: Int) {
        (self.broker, self.pages) = (broker, pages)
        key = ObjectIdentifier(database)
    }

    deinit {
        let id = ObjectIdentifier(self)
        Self.all.withLock { [key] all in
            // Another connection may have the address by now.
            if all[key]?.id == id { all[key] = nil }
        }
    }

    /// Tells a connection to leave the log to a broker.
    static func leaveLog(of database: Database, to broker: Broker) throws {
        if let observer = all.withLock({ $0[ObjectIdentifier(database)]?.observer }) {
            observer.broker = broker
            return
        }
        let pages = try Int.fetchOne(database, sql: "PRAGMA wal_autocheckpoint") ?? 0
        try database.set("wal_autocheckpoint", "0")
        let observer = LogObserver(broker, database, pages: pages > 0 ? pages : usualPages)
        all.withLock { $0[observer.key] = Entry(observer: observer, id: ObjectIdentifier(observer)) }
        database.add(transactionObserver: observer, extent: .databaseLifetime)
    }

    /// SQLite's own setting (<https://www.sqlite.org/pragma.html#pragma_wal_autocheckpoint>), for one that
    /// was prepared for a broker before there was one.
    private static let usualPages = 1_000

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }

    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseDidRollback(_ db: Database) {}

    func databaseDidCommit(_ db: Database) {
        if let broker, !broker.store.isClosed { return broker.store.seeToLog() }
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
