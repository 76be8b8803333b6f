internal import DequeModule

/// Queues in the order in which they have come, of which any may leave at any time.
struct QueueLine {
    private var members: Set<QueueID> = []
    /// Those that have left stand here too, and one that has come back perhaps twice.
    private var line: Deque<QueueID> = []

    var count: Int { members.count }

    /// Entries, of those that have left too: how much room it takes.
    var length: Int { line.count }

    var isEmpty: Bool { members.isEmpty }

    /// Puts a queue at the end.
    ///
    /// - Returns: `false` if it is in the line already, and stays where it is.
    @discardableResult
    mutating func append(_ queue: QueueID) -> Bool {
        guard members.insert(queue).inserted else { return false }
        line.append(queue)
        if line.count > 2 * members.count + 64 {
            var seen: Set<QueueID> = []
            line.removeAll { !members.contains($0) || !seen.insert($0).inserted }
        }
        return true
    }

    func contains(_ queue: QueueID) -> Bool { members.contains(queue) }

    mutating func popFirst() -> QueueID? {
        while let queue = line.popFirst() {
            if members.remove(queue) != nil { return queue }
        }
        return nil
    }

    mutating func remove(_ queue: QueueID) {
        if !members.isEmpty { members.remove(queue) }
    }
}
