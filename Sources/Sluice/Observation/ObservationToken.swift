internal import Synchronization

/// Holds an observation: its callbacks end when the token is cancelled or dropped, and when the broker is
/// closed.
public final class ObservationToken: Sendable {
    private let callbacks: EventCallbacks
    private let unsubscribe: @Sendable () -> Void

    init(_ observers: Observers, _ callbacks: EventCallbacks) {
        self.callbacks = callbacks
        unsubscribe = observers.add(
            Observers.Subscriber(receive: { callbacks.receive($0) }, end: {})
        )
    }

    deinit { cancel() }

    /// Ends the callbacks: none begins once this has returned.
    ///
    /// One that has begun on another thread may still be under way then. Called on the serial queue or
    /// executor on which the callbacks run, none is, unless it is the caller itself.
    public func cancel() {
        unsubscribe()
        callbacks.cancel()
    }
}

/// Calls an observer back, one event after the other, where the application wants it.
///
/// Nothing stands behind it while nothing happens: one job is handed to the executor when events come, and
/// goes on until none is left.
final class EventCallbacks: Sendable {
    private struct State {
        var buffer: EventBuffer
        /// A job has been handed to the executor, or is under way.
        var isScheduled = false
        var isCancelled = false
    }

    /// The most callbacks of one job: others may want the executor too.
    private static let jobLimit = 64

    private let state: Mutex<State>
    private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let body: @Sendable (ObservedEvent) -> Void

    init(
        _ buffering: EventBuffering,
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        body: @escaping @Sendable (ObservedEvent) -> Void
    ) {
        state = Mutex(State(buffer: EventBuffer(buffering)))
        self.schedule = schedule
        self.body = body
    }

    func receive(_ events: [QueueEvent]) {
        let isFirst = state.withLock { state in
            if state.isCancelled { return false }
            for event in events { state.buffer.add(event) }
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { schedule { self.work() } }
    }

    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            state.buffer.removeAll()
        }
    }

    private func work() {
        for _ in 0..<Self.jobLimit {
            let next = state.withLock { state -> ObservedEvent? in
                let next = state.buffer.pop()
                if next == nil { state.isScheduled = false }
                return next
            }
            guard let next else { return }
            body(next)
        }
        schedule { self.work() }
    }
}
