/// A subscription, which ends when it is released.
final class EventSubscription: Sendable {
    private let stream: EventStream
    private let unsubscribe: @Sendable () -> Void

    init(_ observers: Observers, _ buffering: EventBuffering) {
        let stream = EventStream(buffering)
        self.stream = stream
        unsubscribe = observers.add(
            Observers.Subscriber(receive: { stream.receive($0) }, end: { stream.end() })
        )
    }

    deinit { unsubscribe() }

    func next() async -> ObservedEvent? {
        await withTaskCancellationHandler {
            await stream.next()
        } onCancel: {
            unsubscribe()
            stream.cancel()
        }
    }
}
