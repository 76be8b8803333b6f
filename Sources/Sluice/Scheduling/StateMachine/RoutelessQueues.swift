/// Queues whose heads had no route here at their last claim; others may run them without a report.
///
/// So some are polled at intervals. Each that has got a route, or nothing to do, causes a poll of the next.
struct RoutelessQueues {
    private var line = QueueLine()
    /// Polled queues, until it is known whether they still have no route.
    private var askedAgain: Set<QueueID> = []

    var count: Int { line.count }
    var isEmpty: Bool { line.isEmpty }

    mutating func append(_ queue: QueueID) {
        askedAgain.remove(queue)
        line.append(queue)
    }

    /// Records that another process runs a queue: it remains unknown whether there is a route for it here.
    mutating func runsElsewhere(_ queue: QueueID) { askedAgain.remove(queue) }

    /// Removes a queue with a route or without a head; returns whether it was polled, and the next should be.
    mutating func remove(_ queue: QueueID) -> Bool {
        line.remove(queue)
        return !askedAgain.isEmpty && askedAgain.remove(queue) != nil
    }

    /// Returns the next queue to poll; it counts as without a route until its claim shows otherwise.
    mutating func next() -> QueueID? {
        guard let queue = line.popFirst() else { return nil }
        line.append(queue)
        askedAgain.insert(queue)
        return queue
    }
}
