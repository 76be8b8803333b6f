internal import HashTreeCollections

/// States that are read as a whole after each change, for an engine whose changes do not say what they
/// concern.
struct PolledStates<Item: Sendable & Hashable & Identifiable>: StateSource
where Item.ID: Sendable {
    typealias State = Item

    let all: @Sendable () async throws(SluiceError) -> [Item]
    let gone: @Sendable ([Item]) async throws(SluiceError) -> [Item]

    func note(_ event: QueueEvent, _ known: Known, isReading: Bool, in dirty: inout DirtyStates) {
        dirty.addAll()
    }
    func note(_ queue: QueueID, _ known: Known, isReading: Bool, in dirty: inout DirtyStates) {
        dirty.addAll()
    }

    func read(
        _ dirty: DirtyStates,
        _ known: Known
    ) async throws(SluiceError) -> (matching: [Item], gone: [Item]) {
        let matching = try await all()
        let found = Set(matching.map(\.id))
        let missing = known.values.filter { !found.contains($0.id) }
        return (matching, missing.isEmpty ? [] : try await gone(missing))
    }
}

extension Observers {
    /// Observes the states that `all` reads, again after each event, each poke and each interval.
    ///
    /// - Parameters:
    ///   - position: What the consumer knows already.
    ///   - clock: Measures the reads and the intervals.
    ///   - interval: How often others may have committed.
    ///   - all: Reads all states that match.
    ///   - gone: Reads how known states that match no more have ended.
    package func polled<State>(
        after position: StateUpdate<State>.Position?,
        clock: any BrokerClock,
        every interval: Duration,
        all: @escaping @Sendable () async throws(SluiceError) -> [State],
        gone: @escaping @Sendable ([State]) async throws(SluiceError) -> [State]
    ) -> StateUpdates<StateUpdate<State>> {
        StateUpdates { [self] () throws(SluiceError) -> StateUpdates<StateUpdate<State>>.Next in
            let source = PolledStates(all: all, gone: gone)
            let updates = StateObservation(
                self,
                source,
                known: position?.known,
                clock: clock,
                pollingEvery: interval
            )
            return { () async throws(SluiceError) -> StateUpdate<State>? in try await updates.next() }
        }
    }
}
