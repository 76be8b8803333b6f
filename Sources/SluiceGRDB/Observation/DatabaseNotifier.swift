#if GRDB
public import GRDB
public import Sluice
internal import Synchronization

/// Notifies the observations of a GRDB database of the broker's commits, until it is released.
///
/// ```swift
/// struct Outbox {
///     let pool: DatabasePool
///     let broker: Broker
///     let notifier: DatabaseNotifier   // held as long as anything is observed
///
///     init(_ pool: DatabasePool) async throws {
///         self.pool = pool
///         broker = try await Broker(sharing: pool)
///         notifier = broker.notifier(for: pool)
///     }
/// }
///
/// let observation = ValueObservation.tracking { db in
///     try QueueRecord.filter { $0.queue == "conversation/42" }.fetchOne(db)
/// }
/// for try await queue in observation.values(in: outbox.pool) { show(queue?.because ?? "all sent") }
/// ```
///
/// GRDB's observations see only GRDB's writes, and the engine writes on a connection of its own. So the
/// notifier observes the broker's events, and reports a change of the queues in an empty GRDB transaction,
/// which takes no lock of the file. There is at most one such transaction at a time, and the next one covers
/// all commits made in the meantime. Each costs as much as the observations read. Without events it costs
/// nothing; without a notifier the broker does not create the events.
///
/// One notifier is enough for all observations of a database; hold it from before the first until after the
/// last. Commits of other processes are reported too, within `FileOptions.foreignChangeInterval`. A change
/// by time alone, such as the end of a retry's wait, is reported with the commit that follows from it.
///
/// If GRDB has opened the database for reading only (`Configuration.readonly`), it observes nothing. An
/// observation then returns one value, and a notifier has no effect, which the broker logs at debug.
public final class DatabaseNotifier: Sendable {
    /// `nil` if GRDB observes nothing.
    private let token: ObservationToken?

    fileprivate init(_ broker: Broker, _ writer: some DatabaseWriter) {
        guard !writer.configuration.readonly else {
            token = nil
            broker.note("a notifier is silent: GRDB does not observe a database opened for reading only")
            return
        }
        let notices = Notices { done in
            writer.asyncWriteWithoutTransaction { db in
                // An error here, such as that of a closed database, has no receiver.
                try? db.inTransaction(.deferred) {
                    try db.notifyChanges(in: QueueRegion.convertible)
                    return .commit
                }
                done()
            }
        }
        token = broker.observeChanges { notices.note() }
        // For commits before the first event.
        notices.note()
    }

    /// Ends the notifications, like releasing it; a notification in progress is the last.
    public func cancel() { token?.cancel() }
}

extension Broker {
    /// Returns a notifier that makes the observations of a GRDB database see this broker's commits.
    ///
    /// - Parameter writer: A `DatabaseQueue` or `DatabasePool` on the broker's file, opened for writing; the
    ///   notifier keeps it alive.
    /// - Returns: The notifier; hold it while anything is observed.
    public func notifier(for writer: some DatabaseWriter) -> DatabaseNotifier {
        DatabaseNotifier(self, writer)
    }
}
#endif
