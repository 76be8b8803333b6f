internal import Synchronization

/// A subscription, which ends when it is released.
final class EventSubscription: Sendable {
    private let stream: EventStream
    private let token: ObservationToken

    init(_ observers: Observers, _ buffering: EventBuffering) {
        let stream = EventStream(buffering)
        self.stream = stream
        let end: @Sendable () -> Void = { stream.end(drops: false) }
        let subscriber = Observers.Subscriber(receive: { stream.receive($0) }, end: end)
        token = ObservationToken(observers, subscriber) { stream.end(drops: true) }
    }

    func next() async -> ObservedEvent? {
        await withTaskCancellationHandler {
            await stream.next()
        } onCancel: {
            token.cancel()
        }
    }
}

/// The events that wait for a task, or the task that waits for events.
private final class EventStream: Sendable {
    private typealias Waiter = CheckedContinuation<ObservedEvent?, Never>

    private struct State {
        var buffer: EventBuffer
        var waiter: Waiter?
        var hasEnded = false
    }

    private let state: Mutex<State>

    init(_ buffering: EventBuffering) { state = Mutex(State(buffer: EventBuffer(buffering))) }

    func receive(_ events: [QueueEvent]) {
        let next = state.withLock { state -> (waiter: Waiter, element: ObservedEvent)? in
            if state.hasEnded { return nil }
            for event in events { state.buffer.add(event) }
            guard let waiter = state.waiter, let element = state.buffer.pop() else { return nil }
            state.waiter = nil
            return (waiter, element)
        }
        if let next { next.waiter.resume(returning: next.element) }
    }

    func next() async -> ObservedEvent? {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> ObservedEvent?? in
                let isFirst = state.waiter == nil
                precondition(isFirst, "two tasks wait for the events of one subscription; subscribe twice")
                if let element = state.buffer.pop() { return .some(element) }
                if state.hasEnded { return .some(nil) }
                state.waiter = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Ends the stream; buffered events can still be read, unless they are dropped, as the consumer is gone.
    func end(drops: Bool) {
        let waiter = state.withLock { state in
            state.hasEnded = true
            if drops { state.buffer.removeAll() }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }
}
