internal import HashTreeCollections

/// The statuses of the queues with work that match a pattern.
struct StatusSource: StateSource {
    typealias State = QueueStatus

    let engine: FileEngine
    let form: QueuePattern.Form

    init(_ engine: FileEngine, _ form: QueuePattern.Form) { (self.engine, self.form) = (engine, form) }

    func note(_ event: QueueEvent, _ known: Known, isReading: Bool, in dirty: inout DirtyStates) {
        // Gates and holds have no queue, and may affect any.
        guard let queue = event.queue else { return dirty.addAll() }
        if form.matches(queue) { dirty.add(queue) }
        if let target = event.target, form.matches(target) { dirty.add(target) }
    }

    func note(_ queue: QueueID, _ known: Known, isReading: Bool, in dirty: inout DirtyStates) {
        // The number of one queue is known, unless it is being read; other queues are no concern of it.
        if case .exact(let name) = form, known[name]?.queueID != queue, known[name] != nil || !isReading {
            return
        }
        dirty.add(queue)
    }

    func read(
        _ dirty: DirtyStates,
        _ known: Known
    ) async throws(SluiceError) -> (matching: [QueueStatus], gone: [QueueStatus]) {
        let matching = try await engine.statuses(
            of: form,
            among: dirty.isAll ? nil : dirty,
            in: nil,
            limit: .max
        )
        let found = Set(matching.map(\.queue))
        // A queue of which only the number is known has not become empty: that is an event with its name.
        let asked = dirty.isAll ? Set(known.keys) : dirty.queues
        let gone = asked.filter { known[$0] != nil && !found.contains($0) }
        return (matching, gone.sorted { $0.rawValue < $1.rawValue }.map(QueueStatus.empty))
    }
}
