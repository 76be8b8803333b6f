/// The state machine of a subscription: facts in, the waiter to resume out; no lock, no waiting.
struct EventStreamStateMachine<Waiter> {
    private var buffer: EventBuffer
    private var waiter: Waiter?
    private var hasEnded = false

    init(_ buffering: EventBuffering) { buffer = EventBuffer(buffering) }

    /// Adds events, and returns the waiter to resume, with its element.
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

    /// Returns the next element, or keeps the waiter.
    mutating func next(_ asking: Waiter) -> Next {
        precondition(waiter == nil, "two tasks wait for the events of one subscription; subscribe twice")
        if let element = buffer.pop() { return .goOn(element) }
        if hasEnded { return .goOn(nil) }
        waiter = asking
        return .wait
    }

    /// Ends the stream; buffered events can still be read.
    mutating func end() -> Waiter? {
        hasEnded = true
        defer { waiter = nil }
        return waiter
    }

    /// Ends the stream and drops buffered events, as the consumer is gone.
    mutating func cancel() -> Waiter? {
        buffer.removeAll()
        return end()
    }
}
