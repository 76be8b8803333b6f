/// Decides when to watch the WAL and when to check the file: facts in, decisions out.
///
/// The watch fires once at the first write to the WAL and must be set again. It has three aims:
///
/// - **No change is missed.** A commit writes its frames to the WAL and syncs them. Only then does it write
///   the header of the index in shared memory, which makes it visible
///   (<https://www.sqlite.org/walformat.html>, 2.1 and 2.2). No watch reports that last step. So a check at
///   the event may be too early, by as long as a sync takes: up to half a second. It is repeated at doubling
///   times, so that a change is seen within twice the time that its commit took to become visible.
/// - **Own commits cost nothing**, though they fire the watch too. The writer reads the commits of others
///   whenever it has the write lock, and counts that as a *turn*. All writes to the WAL before a turn are
///   visible before it, so a turn after the watch was set ends the checks. And a storm of writes is sampled.
/// - **Nothing is done while nothing happens.**
struct WatchPlan {
    enum Step: Equatable {
        /// Set the watch, and report ``armed(at:turns:)`` or ``failed()``.
        case arm
        case look
    }

    private enum Phase: Equatable {
        case off
        /// The watch has fired, or was never set; it is set again at that time.
        case pausing(until: Duration)
        case set(at: Duration)
    }

    /// The least time between two settings of the watch.
    static let pause: Duration = .milliseconds(1)
    /// How long the watch stays unset after the writer has fired it, for a claim or an outcome that follows.
    static let pauseAfterTurn: Duration = .milliseconds(2)
    /// The mean time between two settings in a storm of writes; the most that a change at its end is delayed.
    static let stormPause: Duration = .milliseconds(5)
    /// The same in a storm without changes: eight processes spent more processor time on checks than commits.
    static let barrenStormPause: Duration = .milliseconds(20)
    /// The number of settings without a change after which ``barrenStormPause`` applies: half a second's.
    static let barrenSettings = 100
    /// The number of settings before the longer pause: a change, and the writes that answer it, are no storm.
    static let burst = 20

    /// The times of checks after the watch was set, if only others can have fired it.
    static let looks: [Duration] = [.zero] + (0...11).map { .microseconds(250 << $0) }

    /// The times of checks if the writer has committed, which most likely fired the watch.
    ///
    /// Another's commit may be hidden in the writer's own. That is rare, and each own commit pays for these
    /// checks, so the first are left out. The others double: else a slightly longer sync is seen at the last.
    static let looksAfterTurn: [Duration] = [.zero] + (0...5).map { .milliseconds(16 << $0) }

    private var phase = Phase.off
    /// The time at which the settings so far would have been made at the longer pause.
    private var paidUntil = Duration.zero
    /// Successive settings made before those ahead of them were paid for, since a check last found a change.
    private var barren = 0
    private var turns = 0
    /// The remaining checks, counted from the setting of the watch.
    private var looks: ArraySlice<Duration> = []

    var isOn: Bool { phase != .off }

    /// When ``step(at:turns:)`` must be called; `nil` if not before an event.
    var nextTime: Duration? {
        switch phase {
        case .off: nil
        case .pausing(let time): time
        case .set(let time): looks.first.map { time + $0 }
        }
    }

    /// Starts to set the watch, or tries it again.
    mutating func start(at now: Duration) { if phase == .off { phase = .pausing(until: now) } }

    mutating func fired(at now: Duration, turns: Int) {
        guard case .set(let setAt) = phase else { return }
        let ration = paidUntil - Self.stormPause * (Self.burst - 1)
        let pause = turns == self.turns ? setAt + Self.pause : now + Self.pauseAfterTurn
        // A writer that copies the WAL between its commits is still in a storm.
        barren = paidUntil > now ? barren + 1 : 0
        phase = .pausing(until: max(now, pause, ration))
    }

    mutating func armed(at now: Duration, turns: Int) {
        looks = turns == self.turns ? Self.looks[...] : Self.looksAfterTurn[...]
        self.turns = turns
        let price = barren > Self.barrenSettings ? Self.barrenStormPause : Self.stormPause
        paidUntil = max(paidUntil, now) + price
        phase = .set(at: now)
    }

    /// Records that a check has found a change: later ones may be for this process too.
    mutating func found(at now: Duration) {
        barren = 0
        paidUntil = min(paidUntil, now + Self.stormPause * Self.burst)
    }

    mutating func failed() { (phase, looks) = (.off, []) }

    /// Returns the next step; call it again until it is `nil`.
    mutating func step(at now: Duration, turns: Int) -> Step? {
        if case .set = phase, turns != self.turns { (self.turns, looks) = (turns, []) }
        guard let time = nextTime, time <= now else { return nil }
        guard case .set(let setAt) = phase else { return .arm }
        looks = looks.drop { setAt + $0 <= now }
        return .look
    }
}
