internal import HashTreeCollections

/// The actions and dead letters of a selection.
struct ActionSource: StateSource {
    typealias State = ActionState

    let store: Store
    let selection: ActionSelection.Form
    let payloads: PayloadReader

    func note(_ event: QueueEvent, _ known: Known, isReading: Bool, in dirty: inout DirtyStates) {
        // The phases of actions do not depend on gates and holds. A change of a queue that names no action is
        // that of another process, after which everything is read.
        guard let queue = event.queue, let action = event.action else { return }
        let isCovered =
            switch selection {
            case .action(let id): action == id
            case .queues(let form): form.matches(queue) || event.target.map(form.matches) == true
            case .tag: isReading || known[action] != nil || event.mayTag
            }
        if isCovered { dirty.add(action, event.end) }
    }

    func note(_ queue: QueueID, _ known: Known, isReading: Bool, in dirty: inout DirtyStates) {}

    func read(
        _ dirty: DirtyStates,
        _ known: Known
    ) async throws(SluiceError) -> (matching: [ActionState], gone: [ActionState]) {
        try await store.states(of: selection, dirty, known: known, payloads)
    }
}

extension QueueEvent {
    /// How the action has left the file, if it has.
    fileprivate var end: ActionEnd? {
        switch kind {
        case .succeeded: .succeeded
        case .removed, .taken: .removed
        default: nil
        }
    }

    /// Whether the action may have got a tag.
    fileprivate var mayTag: Bool { kind == .enqueued || kind == .edited || kind == .requeued }
}
