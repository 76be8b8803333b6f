#if CommandLineTool
/// Decides when to read the file.
///
/// It is read soon after a commit, and regularly, since queues change their state with time alone. Reads take
/// at most a fifth of the time.
struct WatchPace {
    /// The interval without commits.
    static let idleInterval: Duration = .seconds(1)
    private static let share = 4

    private var marker: Int64?
    private var lastLook: ContinuousClock.Instant?
    private var pause: Duration = .zero

    /// Returns whether the marker of commits should be read.
    func mayLook(at now: ContinuousClock.Instant) -> Bool {
        lastLook.map { $0.duration(to: now) >= pause } ?? true
    }

    /// Returns whether to read the file.
    mutating func isDue(at now: ContinuousClock.Instant, marker: Int64) -> Bool {
        defer { self.marker = marker }
        guard let lastLook, marker == self.marker else { return true }
        return lastLook.duration(to: now) >= Self.idleInterval
    }

    /// Notes a read and its duration.
    mutating func looked(at end: ContinuousClock.Instant, taking duration: Duration) {
        lastLook = end
        pause = duration * Self.share
    }

    /// Makes the next read due at once.
    mutating func hurry() {
        lastLook = nil
    }
}
#endif
