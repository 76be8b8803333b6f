#if PostgreSQL
package import Sluice

/// Observing what happens in this process at once, and what others do while the broker runs or polls.
extension ServerEngine {
    /// The server says nothing of what changes, so that nothing is begun.
    package func isObserved() {}

    /// All states of the selection are read after each change of this process, and once in each
    /// ``PostgresOptions/pollInterval`` for those of others; more than 1,000 less often, so that reading
    /// takes a hundredth of the time.
    package func observe(
        actions selection: ActionSelection,
        after position: ActionPosition?
    ) -> ActionUpdates {
        observers.polled(after: position, clock: options.clock, every: server.pollInterval) {
            [self] () throws(SluiceError) -> [ActionState] in
            let states = try await read(selection)
            return states.filter { if case .ended = $0.phase { false } else { true } }
        } gone: { [self] (known: [ActionState]) throws(SluiceError) -> [ActionState] in
            let ids = PostgresArray.numbers(known.map(\.id.rawValue))
            return try await states("ids => $1::bigint[], counts => false", [ids])
        }
    }

    private func read(_ selection: ActionSelection) async throws(SluiceError) -> [ActionState] {
        if let action = selection.action {
            return try await states(
                "ids => $1::bigint[], counts => false",
                [PostgresArray.numbers([action.rawValue])]
            )
        }
        if let tag = selection.tag { return try await states("tag => $1, counts => false", [tag]) }
        let pattern = selection.pattern ?? .all
        _ = try pattern.form()
        return try await states("pattern => $1, counts => false", [pattern.rawValue])
    }

    package func observe(
        statuses pattern: QueuePattern,
        after position: StatusPosition?
    ) -> QueueStatusListUpdates {
        observers.polled(after: position, clock: options.clock, every: server.pollInterval) {
            [self] () throws(SluiceError) -> [QueueStatus] in
            try await statuses(matching: pattern.form(), in: nil, limit: .max)
        } gone: { (known: [QueueStatus]) throws(SluiceError) -> [QueueStatus] in
            known.map(\.queue).sorted { $0.rawValue < $1.rawValue }.map(QueueStatus.empty)
        }
    }
}
#endif
