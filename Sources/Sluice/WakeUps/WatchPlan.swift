/// When to watch the log and when to look at the file: facts in, decisions out.
///
/// The watch fires once at the first write to the log and must be set again. Three things are to be had
/// together:
///
/// - **No change is missed.** A commit writes its frames to the log, syncs them, and only then writes the
///   header of the index in shared memory, which makes it visible
///   (<https://www.sqlite.org/walformat.html>, 2.1 and 2.2). That last step is a store to mapped memory, of
///   which no watch tells. So a look right at the event may come too early, by as long as a sync takes: from
///   nothing to half a second. It is repeated at times that double, so that a change is seen within twice the
///   time that its commit took to become visible.
/// - **Our own commits cost nothing**, though they fire the watch too. The writer reads what others have
///   committed whenever it has taken the write lock, and counts that as a *turn*. What had been written to
///   the log before a turn has become visible before it, so a turn behind the setting of the watch ends the
///   looking. And the settings of the watch are rationed, so that a storm of writes is sampled only.
/// - **Nothing is to be done when nothing happens.**
struct WatchPlan {
    enum Step: Equatable {
        /// Set the watch, and tell ``armed(at:turns:)`` or ``failed()``.
        case arm
        /// Look whether others have committed something that the writer has not taken in.
        case look
    }

    private enum Phase: Equatable {
        /// There is no watch: polling must do.
        case off
        /// It has fired, or was never set; it is set again at that time.
        case pausing(until: Duration)
        case set
    }

    /// The least time between two settings of the watch.
    static let pause: Duration = .milliseconds(1)

    /// How long it stays unset when the writer has fired it, for a claim or an outcome that follows.
    static let pauseAfterTurn: Duration = .milliseconds(2)

    /// The mean time between two settings in a storm of writes.
    ///
    /// It bounds how late a change is seen that comes in such a storm just when the writer becomes idle.
    static let stormPause: Duration = .milliseconds(5)

    /// The same when the storm has brought nothing for a while.
    ///
    /// Where eight processes drain one file, looking took more processor time than committing.
    static let barrenStormPause: Duration = .milliseconds(20)

    /// How many settings of a storm must have brought nothing before that one applies: half a second's.
    static let barrenSettings = 100

    /// How many settings are made at the shorter pause before the longer one applies: a change from
    /// outside, and what we write in answer to it, is no storm.
    static let burst = 20

    /// When to look after the watch has been set, if nobody but others can have fired it.
    static let looks: [Duration] =
        [.zero] + (0...11).map { .microseconds(250 << $0) }

    /// The same when the writer has committed meanwhile, which most likely was what fired it.
    ///
    /// What is looked for is a commit of another that was hidden in ours: it is rare, and each of our own
    /// pays for these looks, unless another follows. So the first ones are left out; those that are left
    /// double too, else a sync that takes a little longer than the first would be waited for until the last.
    static let looksAfterTurn: [Duration] = [.zero] + (0...5).map { .milliseconds(16 << $0) }

    private var phase = Phase.off
    private var setAt: Duration?
    /// When the settings so far would have been made at the longer pause.
    private var paidUntil: Duration?
    /// Settings, each before those ahead of it were paid for, since a look has found something.
    private var barren = 0
    /// The writer's turns when they were last asked for.
    private var turns = 0
    /// Looks that are left, counted from the setting of the watch.
    private var looks: ArraySlice<Duration> = []

    var isOn: Bool { phase != .off }

    /// When ``step(at:turns:)`` must be called; `nil`: not before something happens.
    var nextTime: Duration? {
        switch phase {
        case .off: nil
        case .pausing(let time): time
        case .set:
            if let setAt, let look = looks.first { setAt + look } else { nil }
        }
    }
}

// MARK: - Facts

extension WatchPlan {
    /// A watch can be set, or is to be tried again.
    mutating func start(at now: Duration) {
        if phase == .off { phase = .pausing(until: now) }
    }

    /// The watch has told of a write, and is not set any more.
    mutating func fired(at now: Duration, turns: Int) {
        guard phase == .set, let setAt else { return }
        let ration = paidUntil.map { $0 - Self.stormPause * (Self.burst - 1) } ?? now
        let pause = turns == self.turns ? setAt + Self.pause : now + Self.pauseAfterTurn
        let time = max(now, pause)
        // A writer that copies the log between its commits has not calmed down.
        barren = paidUntil.map { $0 > now } == true ? barren + 1 : 0
        phase = .pausing(until: max(time, ration))
    }

    /// The watch has been set; from now on it tells of each write.
    mutating func armed(at now: Duration, turns: Int) {
        looks = turns == self.turns ? Self.looks[...] : Self.looksAfterTurn[...]
        self.turns = turns
        setAt = now
        let price = barren > Self.barrenSettings ? Self.barrenStormPause : Self.stormPause
        paidUntil = max(paidUntil ?? now, now) + price
        phase = .set
    }

    /// A look has found something: what comes next may be for this process too.
    mutating func found(at now: Duration) {
        barren = 0
        paidUntil = paidUntil.map { min($0, now + Self.stormPause * Self.burst) }
    }

    /// The watch cannot be set.
    mutating func failed() {
        phase = .off
        looks = []
    }

    /// What to do now; to be asked again until it is nothing.
    mutating func step(at now: Duration, turns: Int) -> Step? {
        if phase == .set && turns != self.turns {
            self.turns = turns
            looks = []
        }
        guard let time = nextTime, time <= now else { return nil }
        guard phase == .set, let setAt else { return .arm }
        looks = looks.drop { setAt + $0 <= now }
        return .look
    }
}
