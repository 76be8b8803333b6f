internal import Synchronization

/// Holds the state machine of a subscription and resumes its waiters.
final class EventStream: Sendable {
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
