internal import Synchronization

/// The events of a broker from the moment of the subscription on, for one task to iterate over.
///
/// ```swift
/// for await element in broker.events() {
///     switch element {
///     case .event(let event): log(event.kind, event.queue)
///     case .gap(let lost): log("\(lost) events were lost")
///     }
/// }
/// ```
///
/// It ends when the broker is closed, behind the last event. Cancelling the task, and dropping the sequence
/// and its iterators, unsubscribes. No task, thread or timer stands behind a subscription.
public struct QueueEvents: AsyncSequence, Sendable {
    /// An event, or the mark of a gap.
    public typealias Element = ObservedEvent
    /// It never throws.
    public typealias Failure = Never

    private let subscription: EventSubscription

    init(_ observers: Observers, _ buffering: EventBuffering) {
        subscription = EventSubscription(observers, buffering)
    }

    /// Makes an iterator.
    ///
    /// All iterators of a sequence take from the same events; two must not wait at the same time.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

    /// Takes one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let subscription: EventSubscription

        /// The next event or gap; `nil` once the broker was closed or the task is cancelled.
        public mutating func next() async -> ObservedEvent? { await subscription.next() }
    }
}

/// Unsubscribes when nobody holds it any more.
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

/// What a subscription does: facts in, who is to go on out; no lock, no waiting.
struct EventStreamStateMachine<Waiter> {
    private var buffer: EventBuffer
    private var waiter: Waiter?
    private var hasEnded = false

    init(_ buffering: EventBuffering) { buffer = EventBuffer(buffering) }

    /// Events have come: who goes on, and with what.
    mutating func receive(_ events: [QueueEvent]) -> (Waiter, ObservedEvent)? {
        if hasEnded { return nil }
        for event in events { buffer.add(event) }
        guard let waiter, let element = buffer.pop() else { return nil }
        self.waiter = nil
        return (waiter, element)
    }

    enum Next {
        case goOn(ObservedEvent?)
        case wait
    }

    /// The consumer asks for the next element.
    mutating func next(_ asking: Waiter) -> Next {
        precondition(waiter == nil, "two tasks wait for the events of one subscription; subscribe twice")
        if let element = buffer.pop() { return .goOn(element) }
        if hasEnded { return .goOn(nil) }
        waiter = asking
        return .wait
    }

    /// Nothing more comes; what waits is still to be taken.
    mutating func end() -> Waiter? {
        hasEnded = true
        defer { waiter = nil }
        return waiter
    }

    /// The consumer has gone.
    mutating func cancel() -> Waiter? {
        buffer.removeAll()
        return end()
    }
}

/// Holds the state machine of a subscription and performs what it decides.
private final class EventStream: Sendable {
    private typealias Continuation = CheckedContinuation<ObservedEvent?, Never>

    private let machine: Mutex<EventStreamStateMachine<Continuation>>

    init(_ buffering: EventBuffering) { machine = Mutex(EventStreamStateMachine(buffering)) }

    func receive(_ events: [QueueEvent]) {
        guard let (waiter, element) = machine.withLock({ $0.receive(events) }) else { return }
        waiter.resume(returning: element)
    }

    func next() async -> ObservedEvent? {
        await withCheckedContinuation { continuation in
            switch machine.withLock({ $0.next(continuation) }) {
            case .goOn(let element): continuation.resume(returning: element)
            case .wait: break
            }
        }
    }

    func end() { machine.withLock { $0.end() }?.resume(returning: nil) }

    func cancel() { machine.withLock { $0.cancel() }?.resume(returning: nil) }
}
