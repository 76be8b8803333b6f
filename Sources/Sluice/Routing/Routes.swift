internal import Synchronization

/// The current routes of a broker.
final class Routes: Sendable {
    private struct State {
        var table = RouteTable()
        var isClosed = false
    }

    private let state = Mutex(State())
    var admission: Admission { state.withLock { $0.table.admission } }
    subscript(id: RouteID) -> Route { state.withLock { $0.table[id] } }

    func route(for queue: QueueName, kind: String) -> RouteMatch {
        state.withLock { state -> RouteMatch in
            let (route, matchesQueue) = state.table.admission.route(for: queue, kind: kind)
            guard let route else { return .unroutable(hasRoute: matchesQueue) }
            return .route(state.table[route.id])
        }
    }

    /// Changes the routes; `body` throws before it changes anything.
    func change(_ body: (inout RouteTable) throws(SluiceError) -> Void) throws(SluiceError) {
        try state.withLock { state throws(SluiceError) in
            guard !state.isClosed else { throw SluiceError(.closed, "the broker was closed") }
            try body(&state.table)
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
