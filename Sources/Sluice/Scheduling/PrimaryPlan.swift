/// When one of several processes becomes the primary, which runs the queues alone for a while: facts in,
/// decisions out.
///
/// A file has one writer at a time. Where handlers are short and many queues have work, one process keeps
/// that writer busy. A second one adds nothing then: the two wait for the lock in turns, and each has to find
/// out what the other has settled meanwhile, so that both together do three quarters of what one does alone.
/// Where handlers take their time it is the other way round: a second process brings as many permits again.
///
/// Which of the two it is shows in what the permits wait for, of all those that are in use the part that
/// waits for the writer and not for a handler (Little's law). Single outcomes tell little of it, so what they
/// show is added up until it is ``proof`` (a cumulative sum test, Page 1954). A process most of whose permits
/// wait for the writer, and which could run more queues, asks to be the primary, with its next commit; the
/// others stand by for ``term``, which it renews until few of its permits wait. After ``tenure`` it lets the
/// others try: it does not know what only they can run, nor whether they are faster.
struct PrimaryPlan {
    /// How often the primary renews its term, while in that time each of its permits has had its turn.
    static let window: Duration = .milliseconds(50)

    /// For how long the others stand by: five windows, so that renewals may come late.
    static let term: Duration = .milliseconds(250)

    /// For how long a process goes on being the primary while it has work: as long as a process that is
    /// frozen keeps its queues (``LeaseTimes/length``).
    ///
    /// The first claim of each queue costs the next one half as much again. Tenures of 5 s took 3 to 8
    /// hundredths of the rate with 10,000 queues.
    static let tenure: Duration = .seconds(30)

    /// How long it does not ask then: long enough for another one to begin, which takes it over at once.
    static let recess: Duration = .seconds(1)

    /// How long a process that ends to be the primary waits before it asks again: handlers that keep the
    /// permits of one process busy may leave those of several waiting.
    static let rest: Duration = .seconds(5)

    /// The part of the permits in their handlers up to which a process begins to be the primary.
    ///
    /// Two processes with 64 permits each, on two cores and with 10,000 queues, show 0.01 with handlers that
    /// do nothing, 0.47 with such as wait 1 ms, 0.56 with 2 ms and 0.62 with 3 ms, and do 0.74, 0.84, 1.0
    /// and 1.25 times as much together as one alone.
    static let lowShare = 0.51

    /// The part up to which it goes on: alone it shows 0.64 with handlers of 1 ms, 0.77 with 2 ms and 0.80
    /// with 3 ms.
    static let highShare = 0.75

    /// By how much outcomes must be past a share, added up, in turns of all permits in use.
    ///
    /// What 50 ms show differs by 0.05 either way. Decided by that alone, handlers of 2 ms made a process
    /// the primary and ended that again every few seconds, which took 4 hundredths of the rate.
    static let proof = 2.0

    private var tenureBeganAt = Duration.zero
    private var askedAt: Duration?
    private var restsUntil = Duration.zero
    private var standbySince: Duration?
    private var tally: Tally?

    /// Whether it is the primary, as far as it knows: nobody else was when it asked.
    func isPrimary(at now: Duration) -> Bool { askedAt.map { now - $0 < Self.term } ?? false }

    /// An outcome is about to be written.
    ///
    /// - Parameters:
    ///   - handlers: How many handlers run, of the permits in use.
    ///   - isFit: Whether any process could run what is ready here, and permits enough are in use.
    ///   - lacksQueues: Whether queues have work that does not run here: it is ready, or another process has
    ///     it. The primary may run it all.
    /// - Returns: Whether to ask for a term with it.
    mutating func settles(
        at now: Duration,
        handlers: Int,
        of permits: Int,
        isFit: Bool,
        lacksQueues: Bool
    ) -> Bool {
        let isPrimary = isPrimary(at: now)
        // What was before a time without outcomes says nothing of what comes behind it.
        guard var tally, tally.isPrimary == isPrimary, isPrimary || now - tally.lastAt <= Self.window else {
            self.tally = Tally(from: now, isPrimary: isPrimary)
            return false
        }
        tally.add(at: now, handlers: handlers, of: permits, isFit: isFit && (lacksQueues || isPrimary))
        self.tally = tally
        return isPrimary ? goesOn(tally, at: now) : begins(tally, at: now)
    }

    private mutating func begins(_ tally: Tally, at now: Duration) -> Bool {
        let isBusy = tally.isBusy(at: now)
        guard tally.isFit, tally.evidence > 0, isBusy || now - tally.beganAt < Self.window else {
            self.tally = Tally(from: now, isPrimary: false)
            return false
        }
        guard isBusy, tally.isProof else { return false }
        self.tally = nil
        return asks(at: now)
    }

    private mutating func goesOn(_ tally: Tally, at now: Duration) -> Bool {
        if tally.isProof {
            rest(from: now, for: Self.rest)
            return false
        }
        guard now - tally.beganAt >= Self.window else { return false }
        self.tally = Tally(from: now, isPrimary: true, evidence: tally.evidence)
        return tally.isFit && tally.isBusy(at: now) && asks(at: now)
    }

    private mutating func asks(at now: Duration) -> Bool {
        guard now >= restsUntil else { return false }
        // The others have not seen a gap that is shorter.
        if askedAt.map({ now - $0 >= Self.recess }) ?? true {
            tenureBeganAt = now
        } else if now - tenureBeganAt >= Self.tenure {
            rest(from: now, for: Self.recess)
            return false
        }
        askedAt = now
        return true
    }

    private mutating func rest(from now: Duration, for time: Duration) {
        askedAt = nil
        restsUntil = now + time
    }

    /// Another process is the primary, or has renewed that.
    mutating func standsBy(at now: Duration) {
        standbySince = standbySince ?? now
        (askedAt, tally) = (nil, nil)
    }

    /// Nobody is the primary any more.
    mutating func standsByNoMore(at now: Duration) {
        // It has tried, and found that its handlers take their time: they do so here too.
        if let standbySince, now - standbySince < Self.term * 2 { rest(from: now, for: Self.rest) }
        standbySince = nil
    }

    /// What outcomes have shown since then.
    private struct Tally {
        let beganAt: Duration
        let isPrimary: Bool
        /// By how much they were past the share at which something changes, added up.
        private(set) var evidence: Double
        private(set) var isFit = true
        private(set) var lastAt: Duration
        private var outcomes = 0
        private var permits = 0

        init(from now: Duration, isPrimary: Bool, evidence: Double = 0) {
            (beganAt, lastAt, self.isPrimary, self.evidence) = (now, now, isPrimary, evidence)
        }

        mutating func add(at now: Duration, handlers: Int, of permits: Int, isFit: Bool) {
            lastAt = now
            let share = Double(handlers) / Double(permits)
            evidence = max(evidence + (isPrimary ? share - highShare : lowShare - share), 0)
            outcomes += 1
            self.permits += permits
            self.isFit = self.isFit && isFit
        }

        var isProof: Bool { evidence * Double(outcomes) >= proof * Double(permits) }

        /// Whether, on average, each permit has had its turn in each ``window``.
        func isBusy(at now: Duration) -> Bool { window * outcomes * outcomes >= (now - beganAt) * permits }
    }
}
