internal import DequeModule

/// Queues in order of arrival, of which any may leave at any time.
struct QueueLine {
    private var members: Set<QueueID> = []
    /// The entries, also of queues that have left; a queue that has returned may occur twice.
    private var line: Deque<QueueID> = []

    var count: Int { members.count }
    /// The number of entries, which is the memory used.
    var length: Int { line.count }
    var isEmpty: Bool { members.isEmpty }

    /// Adds a queue at the end; if it is in the line already, it keeps its position.
    mutating func append(_ queue: QueueID) {
        guard members.insert(queue).inserted else { return }
        line.append(queue)
        guard line.count > 2 * members.count + 64 else { return }
        var seen: Set<QueueID> = []
        line.removeAll { !members.contains($0) || !seen.insert($0).inserted }
    }

    mutating func popFirst() -> QueueID? {
        while let queue = line.popFirst() { if members.remove(queue) != nil { return queue } }
        return nil
    }

    mutating func remove(_ queue: QueueID) { if !members.isEmpty { members.remove(queue) } }
}
