/// The events of a broker since the subscription, for one task to iterate over.
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
/// The sequence ends when the broker is closed, after the last event. Cancelling the task, or releasing the
/// sequence and its iterators, unsubscribes. A subscription uses no task, thread or timer.
public struct QueueEvents: AsyncSequence, Sendable {
    /// An event, or the mark of a gap.
    public typealias Element = ObservedEvent
    /// The sequence never throws.
    public typealias Failure = Never

    private let subscription: EventSubscription

    package init(_ observers: Observers, _ buffering: EventBuffering) {
        subscription = EventSubscription(observers, buffering)
    }

    /// Makes an iterator; all share the events of the sequence, and two must not wait at the same time.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

    /// Returns one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let subscription: EventSubscription

        /// Returns the next event or gap; `nil` if the broker was closed or the task is cancelled.
        public mutating func next() async -> ObservedEvent? { await subscription.next() }
    }
}
