/// Waits for possible changes of a queue.
final class QueueWatch: Sendable {
    private let state: WatchState
    private let unsubscribe: @Sendable () -> Void

    init(_ observers: Observers, _ queue: QueueName) {
        let state = WatchState(queue)
        self.state = state
        unsubscribe = observers.add(
            Observers.Subscriber(
                receive: { state.receive($0) },
                poke: { state.poke($0) },
                end: { state.end() }
            )
        )
    }

    deinit { unsubscribe() }

    /// Notes the queue's number, once the file has one.
    func knows(_ id: QueueID?) { state.knows(id) }

    /// Waits until something may have changed, at first not at all; `false` means that the watch has ended.
    func changed() async -> Bool {
        await withTaskCancellationHandler {
            await state.changed()
        } onCancel: {
            unsubscribe()
            state.end()
        }
    }
}
