/// How many events wait for an observer that is slower than the queues, and which are lost beyond that.
///
/// An observer never delays a commit: ``ObservedEvent/gap(lost:)`` replaces events without room.
public struct EventBuffering: Sendable, Hashable {
    enum Loss: Sendable { case newest, oldest }

    let limit: Int
    let loss: Loss

    /// Keeps the oldest events, at most `limit`, at least 1, of about 200 bytes and texts: new ones are lost.
    public static func bounded(_ limit: Int = 1_024) -> EventBuffering {
        EventBuffering(limit: max(limit, 1), loss: .newest)
    }

    /// Keeps the newest events, at most `limit`, at least 1: the ones that have waited longest are lost.
    public static func latest(_ limit: Int) -> EventBuffering {
        EventBuffering(limit: max(limit, 1), loss: .oldest)
    }
}
