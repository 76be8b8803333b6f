extension FileEngine {
    package func observe(
        actions selection: ActionSelection,
        after position: ActionPosition?
    ) -> ActionUpdates {
        ActionUpdates { [self] () throws(SluiceError) -> ActionUpdates.Next in
            let source = ActionSource(store: store, selection: try selection.form(), payloads: reader)
            let updates = observation(of: source, after: position?.known)
            return { () async throws(SluiceError) -> ActionUpdate? in try await updates.next() }
        }
    }

    package func observe(
        statuses pattern: QueuePattern,
        after position: StatusPosition?
    ) -> QueueStatusListUpdates {
        QueueStatusListUpdates { [self] () throws(SluiceError) -> QueueStatusListUpdates.Next in
            let updates = observation(of: StatusSource(self, try pattern.form()), after: position?.known)
            return { () async throws(SluiceError) -> QueueStatusListUpdate? in try await updates.next() }
        }
    }

    func observation<Source: StateSource>(
        of source: Source,
        after known: Source.Known?
    ) -> StateObservation<Source> {
        defer { isObserved() }
        return StateObservation(observers, source, known: known, clock: options.clock)
    }

    package func isObserved() {
        watchForStalls()
        lookAtOthers()
    }
}
