#if CommandLineTool
/// When to look at the file: soon after somebody has committed, and now and then in any case, since queues
/// change their state with time alone; never so often that the looks are more than a fifth of the time.
struct WatchPace {
    /// Without a commit.
    static let idleInterval: Duration = .seconds(1)
    private static let share = 4

    private var marker: Int64?
    private var lastLook: ContinuousClock.Instant?
    private var pause: Duration = .zero

    /// Whether it is worth asking for the marker of commits.
    func mayLook(at now: ContinuousClock.Instant) -> Bool {
        lastLook.map { $0.duration(to: now) >= pause } ?? true
    }

    /// Whether to look.
    mutating func isDue(at now: ContinuousClock.Instant, marker: Int64) -> Bool {
        defer { self.marker = marker }
        guard let lastLook, marker == self.marker else { return true }
        return lastLook.duration(to: now) >= Self.idleInterval
    }

    /// Notes a look that took so long.
    mutating func looked(at end: ContinuousClock.Instant, taking duration: Duration) {
        lastLook = end
        pause = duration * Self.share
    }

    /// Has the next look come at once.
    mutating func hurry() {
        lastLook = nil
    }
}
#endif
