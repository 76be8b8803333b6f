#if GRDB
public import GRDB
public import Sluice
internal import Synchronization

/// Tells the observations of a GRDB database what the broker has committed, as long as it is held.
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
/// GRDB's observations see what GRDB writes, and the engine writes on a connection of its own. So the
/// notifier observes the broker's events, and has an empty transaction of GRDB's say that the queues have
/// changed. It takes no lock of the file. There is at most one under way: what the engine commits meanwhile
/// is told by the next, so that a busy broker costs one after the other, and each costs what the observations
/// then read. While nothing happens it costs nothing; without a notifier the broker does not even make the
/// events.
///
/// One is enough for all observations of a database; hold it from before the first until after the last. What
/// other processes commit is told too, within `BrokerOptions.foreignChangeInterval`. What changes by time
/// alone, such as the end of a retry's wait, is told with the commit that follows from it.
///
/// GRDB observes nothing in a database that it has opened for reading only (`Configuration.readonly`): an
/// observation gives one value there, and a notifier tells nothing, which the broker logs at debug.
public final class DatabaseNotifier: Sendable {
    /// `nil` where there is nobody to tell.
    private let token: ObservationToken?

    fileprivate init(_ broker: Broker, _ writer: some DatabaseWriter) {
        guard !writer.configuration.readonly else {
            token = nil
            broker.note("a notifier tells nothing: GRDB observes no database opened for reading only")
            return
        }
        let notices = Notices { done in
            writer.asyncWriteWithoutTransaction { db in
                // What fails here, as on a database that was closed, has nobody to be told.
                try? db.inTransaction(.deferred) {
                    try db.notifyChanges(in: QueueRegion.convertible)
                    return .commit
                }
                done()
            }
        }
        token = broker.observeChanges { notices.note() }
        // What was committed before the first event.
        notices.note()
    }

    /// Ends it, as dropping it does; a notification that is under way is the last.
    public func cancel() { token?.cancel() }
}

extension Broker {
    /// Has the observations of a GRDB database see what this broker commits.
    ///
    /// - Parameter writer: A `DatabaseQueue` or `DatabasePool` on the broker's file, opened for writing; it
    ///   is held as long as the notifier is.
    /// - Returns: What to hold while anything is observed.
    public func notifier(for writer: some DatabaseWriter) -> DatabaseNotifier {
        DatabaseNotifier(self, writer)
    }
}

/// Has one notification after the other be made, and no two at a time.
final class Notices: Sendable {
    private enum State { case idle, underWay, underWayAndLate }

    private let state = Mutex(State.idle)
    private let notify: @Sendable (_ done: @escaping @Sendable () -> Void) -> Void

    init(_ notify: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void) {
        self.notify = notify
    }

    /// Something has changed: it is told by a notification that begins from now on.
    func note() {
        let isFirst = state.withLock { state in
            defer { state = state == .idle ? .underWay : .underWayAndLate }
            return state == .idle
        }
        if isFirst { begin() }
    }

    private func begin() {
        notify { [self] in
            let isLate = state.withLock { state in
                defer { state = state == .underWayAndLate ? .underWay : .idle }
                return state == .underWayAndLate
            }
            if isLate { begin() }
        }
    }
}
#endif
