/// Decides whether the writer briefly waits for more writes before a commit, so that they share one sync.
///
/// Callers whose writes were synced together return one after the other: if the first one got a sync of its
/// own, every second sync would be for one write. So a group waits until as many writes have arrived as
/// shared the last sync, but at most half as long as that took. A single caller waits once at most, in vain.
///
/// Only writes that must be synced count, and only if a sync is slow: with 64 callers and a sync of 1 ms it
/// saves a third of the time; with 0.2 ms, waiting costs more than it saves.
struct Gathering {
    /// The number of writes that shared the last sync.
    private var expected = 1
    /// The number of writes that wait in line.
    private var present = 0
    private var isAwaited = false
    private var patience: Duration = .zero
    /// A faster commit is not worth waiting for.
    static let slowCommit: Duration = .milliseconds(1)
    /// The longest wait, however long a sync takes.
    static let longestWait: Duration = .milliseconds(5)
    /// Whether more writes are likely to arrive.
    var isWorthwhile: Bool { present > 0 && present < expected }

    /// Adds a write that must be synced; returns whether it completes the group that the writer waits for.
    mutating func noteArrival() -> Bool {
        present += 1
        guard isAwaited, present >= expected else { return false }
        isAwaited = false
        return true
    }

    mutating func left() { present -= 1 }

    /// Starts to gather a group; returns how long to wait, or `nil` for not at all.
    mutating func begin() -> Duration? {
        guard isWorthwhile else { return nil }
        isAwaited = true
        return patience
    }

    /// Ends the wait; returns whether ``noteArrival()`` has asked a caller to wake the writer.
    mutating func end() -> Bool {
        defer { isAwaited = false }
        return !isAwaited
    }

    mutating func took(_ count: Int) { present -= count }

    /// Records the commit of a group that had to be synced, and the duration of that commit.
    mutating func committed(_ count: Int, in duration: Duration) {
        expected = duration < Self.slowCommit ? 1 : count
        patience = min(duration / 2, Self.longestWait)
    }
}
