internal import Synchronization

/// Waits for possible changes of a queue.
final class QueueWatch: Sendable {
    private let state: WatchState
    private let token: ObservationToken

    init(_ observers: Observers, _ queue: QueueName) {
        let state = WatchState(queue)
        self.state = state
        let subscriber = Observers.Subscriber(
            receive: { state.receive($0) },
            poke: { state.poke($0) },
            end: { state.end() }
        )
        token = ObservationToken(observers, subscriber) { state.end() }
    }

    func knows(_ id: QueueID?) { state.knows(id) }

    /// Waits until something may have changed, at first not at all; `false` means that the watch has ended.
    func changed() async -> Bool {
        await withTaskCancellationHandler {
            await state.changed()
        } onCancel: {
            token.cancel()
        }
    }
}

private final class WatchState: Sendable {
    private struct State {
        /// The first read is due.
        var mayHaveChanged = true
        var hasEnded = false
        var id: QueueID?
        /// The queue's number is being read, so a poke of any queue may be about this one.
        var isLookingUp = false
        var waiter: CheckedContinuation<Bool, Never>?
    }

    private let state = Mutex(State())
    private let queue: QueueName

    init(_ queue: QueueName) { self.queue = queue }

    func receive(_ events: [QueueEvent]) {
        // Gates and holds have no queue, and may affect any.
        if events.contains(where: { $0.queue == queue || $0.queue == nil || $0.target == queue }) { note() }
    }

    /// - Parameter id: `nil` is every queue.
    func poke(_ id: QueueID?) { if id == nil || state.withLock({ $0.id == id || $0.isLookingUp }) { note() } }
    func knows(_ id: QueueID?) { state.withLock { ($0.id, $0.isLookingUp) = (id, false) } }

    func changed() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Bool? in
                if state.hasEnded { return false }
                guard state.mayHaveChanged else {
                    precondition(state.waiter == nil, "two tasks wait for one status; iterate twice")
                    state.waiter = continuation
                    return nil
                }
                state.mayHaveChanged = false
                state.isLookingUp = state.id == nil
                return true
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func end() { wake(false) { $0.hasEnded = true } }

    private func note() {
        wake(true) { state in
            state.mayHaveChanged = state.waiter == nil
            state.isLookingUp = state.id == nil
        }
    }

    private func wake(_ answer: Bool, _ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: answer)
    }
}
