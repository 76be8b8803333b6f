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

    /// Puts a queue at the end, if it is not in the line.
    mutating func append(_ queue: QueueID) {
        guard members.insert(queue).inserted else { return }
        line.append(queue)
        guard line.count > 2 * members.count + 64 else { return }
        var seen: Set<QueueID> = []
        line.removeAll { !members.contains($0) || !seen.insert($0).inserted }
    }

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
