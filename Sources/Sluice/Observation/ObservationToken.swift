/// Keeps an observation alive until it is cancelled or released, or the broker is closed.
public final class ObservationToken: Sendable {
    private let end: @Sendable () -> Void

    init(_ observers: Observers, _ subscriber: Observers.Subscriber, cancel: @escaping @Sendable () -> Void) {
        let unsubscribe = observers.add(subscriber)
        end = {
            unsubscribe()
            cancel()
        }
    }

    convenience init(_ observers: Observers, _ callbacks: ObserverCallbacks<EventBuffer>) {
        let subscriber = Observers.Subscriber(receive: { callbacks.receive($0) }, end: {})
        self.init(observers, subscriber) { callbacks.cancel() }
    }

    deinit { if !mutant("token dropped") { cancel() } }

    /// Ends the callbacks: after the return, none begins.
    ///
    /// One that has begun may still run, unless you call it on the callbacks' own serial queue or executor.
    public func cancel() { end() }
}
