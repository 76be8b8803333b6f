internal import DequeModule

/// An event, or the mark of a gap.
public enum ObservedEvent: Sendable, Hashable {
    /// An event.
    case event(QueueEvent)
    /// Events were lost here, because the observer was too slow.
    case gap(lost: Int)
}

/// How many events wait for an observer that is slower than the queues, and which are lost beyond that.
///
/// An observer never delays a commit: an event without room is lost, and ``ObservedEvent/gap(lost:)``
/// replaces it.
public struct EventBuffering: Sendable, Hashable {
    enum Loss: Sendable { case newest, oldest }

    let limit: Int
    let loss: Loss

    /// Keeps the oldest events: new ones are lost while there is no room.
    ///
    /// - Parameter limit: The most events that wait; at least 1. An event has about 200 bytes, and its texts.
    public static func bounded(_ limit: Int = 1_024) -> EventBuffering {
        EventBuffering(limit: max(limit, 1), loss: .newest)
    }

    /// Keeps the newest events: the ones that have waited longest are lost.
    ///
    /// - Parameter limit: The most events that wait; at least 1.
    public static func latest(_ limit: Int) -> EventBuffering {
        EventBuffering(limit: max(limit, 1), loss: .oldest)
    }
}

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

    mutating func removeAll() {
        elements.removeAll()
        eventCount = 0
    }

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
