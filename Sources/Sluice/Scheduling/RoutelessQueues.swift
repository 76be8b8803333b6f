/// Queues whose heads had no route here when they were asked last.
///
/// Another process may have one, and tells nobody when it has run them: so some are asked again from time to
/// time, and each that has got a route, or nothing to do, has the next one asked.
struct RoutelessQueues {
    private var line = QueueLine()
    /// Those that were asked again, until it is known whether they still have none.
    private var askedAgain: Set<QueueID> = []
    /// One has come, or was seen to run, since it was last told when.
    private var hasNew = false
    private var newestAt: Duration?

    var count: Int { line.count }
    var isEmpty: Bool { line.isEmpty }

    /// A queue's head has no route.
    mutating func append(_ queue: QueueID) {
        askedAgain.remove(queue)
        if line.append(queue) { hasNew = true }
    }

    /// Another process runs a queue: if it is one of these, that process is needed, and has it only because
    /// this one left it.
    mutating func runsElsewhere(_ queue: QueueID) {
        askedAgain.remove(queue)
        if line.contains(queue) { hasNew = true }
    }

    /// A queue's head has a route, or there is none.
    ///
    /// - Returns: Whether it was asked again, so that the next one may be like it.
    mutating func remove(_ queue: QueueID) -> Bool {
        line.remove(queue)
        return !askedAgain.isEmpty && askedAgain.remove(queue) != nil
    }

    /// The next one to be asked; without a route until its claim says otherwise.
    mutating func next() -> QueueID? {
        guard let queue = line.popFirst() else { return nil }
        line.append(queue)
        askedAgain.insert(queue)
        return queue
    }

    /// Whether one of them has come so lately that no other process may have had the time to run it, or was
    /// run by one so lately.
    ///
    /// Those that nobody runs may stand for ever: they hold up what they concern, and not the others.
    mutating func mayBeOthers(at now: Duration) -> Bool {
        if hasNew { (newestAt, hasNew) = (now, false) }
        guard !isEmpty, let newestAt else { return false }
        return now - newestAt < PrimaryPlan.tenure
    }
}
