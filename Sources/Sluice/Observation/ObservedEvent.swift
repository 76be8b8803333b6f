/// An event, or the mark of a gap.
public enum ObservedEvent: Sendable, Hashable {
    /// An event.
    case event(QueueEvent)
    /// Events were lost here, because the observer was too slow.
    case gap(lost: Int)
}
