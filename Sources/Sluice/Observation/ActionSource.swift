internal import HashTreeCollections

/// The actions and dead letters of a selection.
struct ActionSource: StateSource {
    typealias State = ActionState

    let store: Store
    let selection: ActionSelection.Form
    let payloads: PayloadReader

    func note(_ event: QueueEvent, _ known: Known, isReading: Bool, in dirty: inout DirtyStates) {
        // The phases of actions do not depend on gates and holds.
        guard let queue = event.queue else { return }
        switch selection {
        case .action(let id):
            // A change of a queue names no action.
            if event.action == id || event.action == nil && event.kind == .changed {
                dirty.add(id, event.end)
            }
        case .queues(let form):
            guard form.matches(queue) || event.target.map(form.matches) == true else { return }
            if let action = event.action {
                dirty.add(action, event.end)
            } else if event.kind == .changed {
                dirty.add(queue)
            }
        case .tag:
            guard let action = event.action else {
                // Any action of the queue, and no event has the tag.
                if event.kind == .changed { dirty.addAll() }
                return
            }
            if isReading || known[action] != nil || event.mayTag { dirty.add(action, event.end) }
        }
    }

    func note(_ queue: QueueID, _ known: Known, isReading: Bool, in dirty: inout DirtyStates) {}

    func read(
        _ dirty: DirtyStates,
        _ known: Known
    ) async throws(SluiceError) -> (matching: [ActionState], gone: [ActionState]) {
        try await store.states(of: selection, dirty, known: known, payloads)
    }

    func isSame(_ new: ActionState, _ old: ActionState) -> Bool { new == old }
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
