#if GRDB
internal import GRDB
internal import Synchronization

/// The tables of the queues' views, as GRDB's region for observations.
///
/// An observation of a view observes the tables that the view reads. A commit of the engine mostly changes
/// several, so all are reported at once.
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
        // There are none before the first opening.
        if !names.isEmpty { known.withLock { $0 = region } }
        return region
    }
}

extension Database {
    /// Notifies GRDB's observers, at the commit of the transaction, that the queues have changed.
    ///
    /// It reads the schema once, and takes no lock. Errors on a suspended connection do not concern the
    /// writer.
    func notifyQueueChanges() {
        try? notifyChanges(in: QueueRegion.convertible)
    }
}
#endif
