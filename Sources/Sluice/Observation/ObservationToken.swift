internal import Synchronization

/// Holds an observation: its callbacks end when the token is cancelled or dropped, and when the broker is
/// closed.
public final class ObservationToken: Sendable {
    private let end: @Sendable () -> Void

    /// - Parameters:
    ///   - subscriber: Has the callbacks made.
    ///   - cancel: Has none of them begin any more.
    init(
        _ observers: Observers,
        _ subscriber: Observers.Subscriber,
        cancel: @escaping @Sendable () -> Void
    ) {
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

    /// Ends the callbacks: none begins once this has returned.
    ///
    /// One that has begun on another thread may still be under way then. Called on the serial queue or
    /// executor on which the callbacks run, none is, unless it is the caller itself.
    public func cancel() { end() }
}

/// What waits for an observer that is called back, bounded.
protocol ObserverBuffer: Sendable {
    /// What has happened.
    associatedtype Input: Sendable
    /// What the observer is told.
    associatedtype Element: Sendable

    mutating func add(_ input: Input)
    mutating func pop() -> Element?
    mutating func removeAll()
}

/// Calls an observer back, one element after the other, where the application wants it.
///
/// Nothing stands behind it while nothing happens: one job is handed to the executor when something comes,
/// and goes on until nothing is left.
final class ObserverCallbacks<Buffer: ObserverBuffer>: Sendable {
    private struct State {
        var buffer: Buffer
        /// A job has been handed to the executor, or is under way.
        var isScheduled = false
        var isCancelled = false
    }

    /// The most callbacks of one job: others may want the executor too.
    private static var jobLimit: Int { 64 }

    private let state: Mutex<State>
    private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let body: @Sendable (Buffer.Element) -> Void

    init(
        _ buffer: Buffer,
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        body: @escaping @Sendable (Buffer.Element) -> Void
    ) {
        state = Mutex(State(buffer: buffer))
        self.schedule = schedule
        self.body = body
    }

    func receive(_ inputs: [Buffer.Input]) {
        if inputs.isEmpty { return }
        let isFirst = state.withLock { state in
            if state.isCancelled { return false }
            for input in inputs { state.buffer.add(input) }
            defer { state.isScheduled = true }
            return !state.isScheduled || mutant("callbacks in turn")
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
            let next = state.withLock { state -> Buffer.Element? in
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
