/// When one of several processes becomes the primary, which runs the queues alone for a while: facts in,
/// decisions out.
///
/// A file has one writer at a time. Where handlers are short and more queues are ready than may run, one
/// process keeps that writer busy. A second one adds nothing then: the two wait for the lock in turns, and
/// each has to find out what the other has settled meanwhile, so that both together do two thirds of what
/// one does alone. Where handlers take their time it is the other way round: a second process brings as many
/// permits again.
///
/// Which of the two it is shows in what the permits wait for, of all those that are in use the part that
/// waits for the writer and not for a handler (Little's law). A process most of whose permits wait for the
/// writer asks to be the primary, with its next commit; the others stand by for ``term``, which it renews
/// while that is so.
struct PrimaryPlan {
    /// How long outcomes are counted before it is decided.
    static let window: Duration = .milliseconds(50)

    /// For how long the others stand by: two windows and some, so that one renewal may come late.
    static let term: Duration = .milliseconds(250)

    /// How long a process that ends to be the primary waits before it asks again: handlers that keep the
    /// permits of one process busy may leave those of several waiting.
    static let rest: Duration = .seconds(5)

    /// The part of the permits in their handlers up to which a process begins to be the primary.
    ///
    /// Two processes on two cores show 0.1 with handlers that do nothing, and 0.4 with such as wait 1 ms:
    /// together they do as much as one there.
    static let lowShare = 0.3

    /// The part up to which it goes on.
    static let highShare = 0.75

    /// It is, as far as it knows: nobody else was when it asked.
    private(set) var isPrimary = false
    private var restsUntil: Duration?
    private var standbySince: Duration?
    private var beganAt: Duration?
    private var outcomes = 0
    private var handlers = 0
    private var isBound = true

    /// An outcome is about to be written.
    ///
    /// - Parameters:
    ///   - handlers: How many handlers run.
    ///   - isBound: Whether all permits are in use, queues wait for one, and any process could run them.
    /// - Returns: Whether to ask for a term with it.
    mutating func settles(at now: Duration, handlers: Int, of concurrency: Int, isBound: Bool) -> Bool {
        defer {
            outcomes += 1
            self.handlers += handlers
            self.isBound = self.isBound && isBound
        }
        guard let beganAt else {
            count(from: now)
            return false
        }
        let time = now - beganAt
        guard time >= Self.window else { return false }
        let share = Double(self.handlers) / Double(outcomes * concurrency)
        let isBusy = Self.window * outcomes >= time * concurrency
        guard self.isBound, isBusy, share < (isPrimary ? Self.highShare : Self.lowShare) else {
            if isPrimary, share >= Self.highShare { restsUntil = now + Self.rest }
            isPrimary = false
            count(from: now)
            return false
        }
        count(from: now)
        isPrimary = restsUntil.map { $0 <= now } ?? true
        return isPrimary
    }

    /// Another process is the primary, or has renewed that.
    mutating func standsBy(at now: Duration) {
        standbySince = standbySince ?? now
        isPrimary = false
        beganAt = nil
    }

    /// Nobody is the primary any more.
    mutating func standsByNoMore(at now: Duration) {
        // It has tried, and found that its handlers take their time: they do so here too.
        if let since = standbySince, now - since < Self.term * 2 { restsUntil = now + Self.rest }
        standbySince = nil
    }

    private mutating func count(from now: Duration) {
        (beganAt, outcomes, handlers, isBound) = (now, 0, 0, true)
    }
}
