/// When one of several processes becomes the primary, which runs the queues alone for a while: facts in,
/// decisions out.
///
/// A file has one writer at a time. Where handlers are short and many queues have work, one process keeps
/// that writer busy. A second one adds nothing then: the two wait for the lock in turns, and each has to find
/// out what the other has settled meanwhile, so that both together do two thirds of what one does alone.
/// Where handlers take their time it is the other way round: a second process brings as many permits again.
///
/// Which of the two it is shows in what the permits wait for, of all those that are in use the part that
/// waits for the writer and not for a handler (Little's law). A process most of whose permits wait for the
/// writer, and which could run more queues, asks to be the primary, with its next commit; the others stand by
/// for ``term``, which it renews while its permits still wait. After ``tenure`` it lets the others try: it
/// does not know what only they can run, nor whether they are faster.
struct PrimaryPlan {
    /// How long outcomes are counted before it is decided.
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
    /// Two processes on two cores with 10,000 queues show 0.00 with handlers that do nothing, 0.45 with such
    /// as wait 1 ms, 0.49 with 2 ms and 0.55 with 3 ms, and do 0.74, 0.81, 0.9 and 1.2 times as much together
    /// as one alone. Windows differ by 0.05, and any of them may begin it.
    static let lowShare = 0.45

    /// The part up to which it goes on: alone it shows 0.67 to 0.80 with handlers of 2 ms, and 0.71 to 0.85
    /// with such of 3 ms.
    static let highShare = 0.85

    private var tenureBeganAt = Duration.zero
    private var askedAt: Duration?
    private var restsUntil = Duration.zero
    private var standbySince: Duration?
    private var beganAt: Duration?
    private var outcomes = 0
    private var handlers = 0
    private var permits = 0
    private var isFit = true

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
        defer {
            outcomes += 1
            self.handlers += handlers
            self.permits += permits
            self.isFit = self.isFit && isFit && (lacksQueues || isPrimary(at: now))
        }
        guard let beganAt else {
            count(from: now)
            return false
        }
        let time = now - beganAt
        guard time >= Self.window else { return false }
        let share = Double(self.handlers) / Double(self.permits)
        // On average each permit has had its turn.
        let isBusy = Self.window * outcomes * outcomes >= time * self.permits
        let isPrimary = isPrimary(at: now)
        let isBound = self.isFit && isBusy && share < (isPrimary ? Self.highShare : Self.lowShare)
        count(from: now)
        if isBound { return asks(at: now) }
        if isPrimary, share >= Self.highShare { rest(from: now, for: Self.rest) }
        return false
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
        (askedAt, beganAt) = (nil, nil)
    }

    /// Nobody is the primary any more.
    mutating func standsByNoMore(at now: Duration) {
        // It has tried, and found that its handlers take their time: they do so here too.
        if let standbySince, now - standbySince < Self.term * 2 { rest(from: now, for: Self.rest) }
        standbySince = nil
    }

    private mutating func count(from now: Duration) {
        (beganAt, outcomes, handlers, permits, isFit) = (now, 0, 0, 0, true)
    }
}
