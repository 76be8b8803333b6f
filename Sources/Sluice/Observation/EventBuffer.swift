internal import DequeModule

/// Events that wait for an observer, with marks where some were lost.
struct EventBuffer: ObserverBuffer {
    private let buffering: EventBuffering
    /// Two gaps are never adjacent, so there are at most twice as many elements as events.
    private var elements: Deque<ObservedEvent> = []
    private var eventCount = 0

    init(_ buffering: EventBuffering) { self.buffering = buffering }

    mutating func add(_ event: QueueEvent) {
        if eventCount == buffering.limit {
            guard buffering.loss == .oldest else { return loseNewest() }
            loseOldest()
        }
        elements.append(.event(event))
        eventCount += 1
    }

    mutating func pop() -> ObservedEvent? {
        guard let element = elements.popFirst() else { return nil }
        if case .event = element { eventCount -= 1 }
        return element
    }

    mutating func removeAll() { self = EventBuffer(buffering) }

    private mutating func loseNewest() {
        guard case .gap(let lost) = elements.last else { return elements.append(.gap(lost: 1)) }
        elements[elements.count - 1] = .gap(lost: lost + 1)
    }

    private mutating func loseOldest() {
        var lost = 1
        if case .gap(let earlier) = elements.first {
            lost += earlier
            elements.removeFirst()
        }
        elements.removeFirst()
        eventCount -= 1
        elements.prepend(.gap(lost: lost))
    }
}
