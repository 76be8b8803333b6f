/// Queues whose heads had no route here when they were asked last.
///
/// Another process may have one, and tells nobody when it has run them: so some are asked again from time to
/// time, and each that has got a route, or nothing to do, has the next one asked.
struct RoutelessQueues {
    private var line = QueueLine()
    /// Those that were asked again, until it is known whether they still have none.
    private var askedAgain: Set<QueueID> = []

    var count: Int { line.count }
    var isEmpty: Bool { line.isEmpty }

    /// A queue's head has no route.
    mutating func append(_ queue: QueueID) {
        askedAgain.remove(queue)
        line.append(queue)
    }

    /// Another process runs a queue: whether there is a route for it here is still not known.
    mutating func runsElsewhere(_ queue: QueueID) { askedAgain.remove(queue) }

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
}
