/// Whether the writer waits a moment for more writes before it commits, so that they share one sync.
///
/// Callers whose writes were synced together come back one after the other, as their tasks go on. Were the
/// first of them given a sync of its own, the rest would wait for it, and every second sync would be for one
/// write. So a group waits until as many have come as shared the last sync, and no longer than half the time
/// that it took: a caller who is alone never waits, and one who expects others in vain does so once.
///
/// Only writes that must be synced count, and only where a sync is slow, as it is on phones, laptops and
/// disks without a protected cache. With 64 callers and a sync of 1 ms it saves a third of the time; where a
/// sync takes 0.2 ms, the writer's work between two syncs gathers enough, and waiting costs more than it
/// saves.
struct Gathering {
    /// How many writes shared the last sync.
    private var expected = 1
    /// How many stand in line.
    private var present = 0
    private var isAwaited = false
    private var patience: Duration = .zero

    /// A commit that is faster is not worth waiting for.
    static let slowCommit: Duration = .milliseconds(1)

    /// The longest wait, whatever a sync takes.
    static let longestWait: Duration = .milliseconds(5)

    /// Whether others are likely to come.
    var isWorthwhile: Bool { present > 0 && present < expected }

    /// A write that must be synced stands in line.
    ///
    /// - Returns: Whether it is the last that the writer waits for: it goes on.
    mutating func came() -> Bool {
        present += 1
        guard isAwaited, present >= expected else { return false }
        isAwaited = false
        return true
    }

    /// A write was taken back.
    mutating func left() { present -= 1 }

    /// The writer is about to commit what waits.
    ///
    /// - Returns: How long it is to wait first; `nil` is not at all.
    mutating func begin() -> Duration? {
        guard isWorthwhile else { return nil }
        isAwaited = true
        return patience
    }

    /// The writer waits no more.
    ///
    /// - Returns: Whether ``came()`` has told somebody to wake it.
    mutating func end() -> Bool {
        defer { isAwaited = false }
        return !isAwaited
    }

    /// A group with so many writes that must be synced is taken out of the line.
    mutating func took(_ count: Int) { present -= count }

    /// A group with so many writes that had to be synced was committed; the duration is that of the commit
    /// alone, of which the sync is most where it is slow.
    mutating func committed(_ count: Int, in duration: Duration) {
        expected = duration < Self.slowCommit ? 1 : count
        patience = min(duration / 2, Self.longestWait)
    }
}
