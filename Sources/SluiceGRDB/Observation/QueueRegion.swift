#if GRDB
internal import GRDB
internal import Synchronization

/// The tables beneath the queues' views, as GRDB names what is observed.
///
/// An observation of a view is one of the tables that it reads, and a commit of the engine mostly changes
/// several of them: all are told of at once.
enum QueueRegion {
    /// The same for every file that this version of the library has opened.
    private static let known = Mutex<DatabaseRegion?>(nil)

    static let convertible = AnyDatabaseRegionConvertible { db in
        if let known = known.withLock({ $0 }) { return known }
        let names = try String.fetchAll(
            db,
            sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'sluice_*'"
        )
        let region = try names.reduce(into: DatabaseRegion()) { region, name in
            region.formUnion(try Table(name).databaseRegion(db))
        }
        // Before the first opening there are none.
        if !names.isEmpty { known.withLock { $0 = region } }
        return region
    }
}

extension Database {
    /// Has GRDB's observers be told, when the transaction is committed, that the queues have changed.
    ///
    /// It asks the schema, once, and no lock. What it throws, on a connection that is suspended, is of no
    /// concern to who writes.
    func notifyQueueChanges() {
        try? notifyChanges(in: QueueRegion.convertible)
    }
}
#endif
