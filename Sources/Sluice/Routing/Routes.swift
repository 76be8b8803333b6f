internal import Synchronization

/// The current routes of a broker.
final class Routes: Sendable {
    private struct State {
        var table = RouteTable()
        var isClosed = false
    }

    private let state = Mutex(State())
    var current: RouteSet { state.withLock { $0.table.current } }
    var admission: Admission { current.admission }
    var registrations: [RouteRegistration] { state.withLock { $0.table.registrations } }

    func route(for queue: QueueName, kind: String) -> RouteMatch { current.route(for: queue, kind: kind) }

    /// Changes the routes; `body` throws before it changes anything.
    @discardableResult
    func change<Output: Sendable>(
        _ body: (inout RouteTable) throws(SluiceError) -> Output
    ) throws(SluiceError) -> Output {
        var old: RouteSet?
        // Handlers that are removed are released outside the lock.
        defer { withExtendedLifetime(old) {} }
        return try state.withLock { state throws(SluiceError) -> Output in
            guard !state.isClosed else { throw SluiceError(.closed, "the broker was closed") }
            old = state.table.current
            return try body(&state.table)
        }
    }

    /// Releases the routes for good, with their handlers, which may hold the broker itself.
    func drop() {
        let table = state.withLock { state in
            state.isClosed = true
            defer { if !mutant("routes go with close") { state.table = RouteTable() } }
            return state.table
        }
        // Application objects are released here, outside the lock.
        withExtendedLifetime(table) {}
    }
}
