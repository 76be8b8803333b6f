internal import HashTreeCollections

/// Some states of the file, of actions or of queues, as an observation reads them.
protocol StateSource: Sendable {
    associatedtype State: Sendable, Hashable, Identifiable where State.ID: Sendable
    typealias Known = TreeDictionary<State.ID, State>

    /// Adds what an event may have changed; called on the committing thread.
    ///
    /// - Parameters:
    ///   - known: The states that the consumer knows.
    ///   - isReading: Whether states are being read that the consumer will know.
    func note(_ event: QueueEvent, _ known: Known, isReading: Bool, in dirty: inout DirtyStates)

    /// Adds what a change in memory of a queue may have changed.
    func note(_ queue: QueueID, _ known: Known, isReading: Bool, in dirty: inout DirtyStates)

    /// Reads what may have changed, in one snapshot.
    ///
    /// - Returns: The states that match, all or only states that may have changed, and the present or last
    ///   states of known ones that match no more.
    func read(
        _ dirty: DirtyStates,
        _ known: Known
    ) async throws(SluiceError) -> (matching: [State], gone: [State])
}
