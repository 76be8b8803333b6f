internal import HeapModule

/// A priority queue of deadlines, the earliest first.
struct DeadlineQueue {
    enum Subject: Hashable {
        case queue(QueueID)
        case attempt(Int64)
        case chore(Chore)

        fileprivate var isChore: Bool { if case .chore = self { true } else { false } }

        fileprivate var isWork: Bool {
            switch self {
            case .queue, .attempt: true
            case .chore(let chore): [.admitScheduled, .sweep, .endHolds].contains(chore)
            }
        }
    }

    struct Deadline: Comparable {
        let time: Duration
        /// Distinguishes it from others at the same time, and from earlier ones of the same subject.
        let number: Int
        let subject: Subject

        static func < (left: Deadline, right: Deadline) -> Bool {
            (left.time, left.number) < (right.time, right.number)
        }
    }

    private var heap: Heap<Deadline> = []
    /// The numbers of deadlines that are neither reached nor removed.
    ///
    /// A removed deadline stays in the heap until it is the first, or more than half of the heap is removed.
    private var live: Set<Int> = []
    private var attempts: [Int64: Int] = [:]
    private var chores: [Chore: (number: Int, time: Duration)] = [:]
    private var lastNumber = 0

    @discardableResult
    mutating func add(_ subject: Subject, at time: Duration) -> Int {
        lastNumber += 1
        heap.insert(Deadline(time: time, number: lastNumber, subject: subject))
        live.insert(lastNumber)
        switch subject {
        case .attempt(let claim): attempts[claim] = lastNumber
        case .chore(let chore): chores[chore] = (lastNumber, time)
        case .queue: break
        }
        return lastNumber
    }

    /// Returns the earliest time after a moment at which anything but a routine chore is due; it scans all.
    ///
    /// - Parameter ofChores: Whether chores other than routine ones count.
    func nextDueTime(after now: Duration, ofChores: Bool = true) -> Duration? {
        heap.unordered.lazy
            .filter { [live] in
                $0.time > now && live.contains($0.number) && $0.subject.isWork
                    && (ofChores || !$0.subject.isChore)
            }
            .map(\.time).min()
    }

    mutating func remove(_ subject: Subject) {
        let number: Int? =
            switch subject {
            case .attempt(let claim): attempts.removeValue(forKey: claim)
            case .chore(let chore): chores.removeValue(forKey: chore)?.number
            case .queue: nil
            }
        if let number { kill(number) }
    }

    mutating func removeQueueDeadline(_ number: Int) {
        kill(number)
    }

    mutating func set(_ chore: Chore, at time: Duration?) {
        remove(.chore(chore))
        if let time { add(.chore(chore), at: time) }
    }

    func time(of chore: Chore) -> Duration? { chores[chore]?.time }

    var first: Duration? { heap.min?.time }

    /// Removes and returns the earliest deadline that is due at `now`.
    mutating func popDue(_ now: Duration) -> Deadline? {
        while let first = heap.min, first.time <= now {
            heap.removeMin()
            guard live.remove(first.number) != nil else { continue }
            switch first.subject {
            case .attempt(let claim): attempts[claim] = nil
            case .chore(let chore): chores[chore] = nil
            case .queue: break
            }
            dropDead()
            return first
        }
        return nil
    }

    private mutating func kill(_ number: Int) {
        live.remove(number)
        if heap.count > 2 * live.count + 64 {
            heap = Heap(heap.unordered.filter { live.contains($0.number) })
        } else {
            dropDead()
        }
    }

    /// The earliest one sets the timer, and so must be a live one.
    private mutating func dropDead() {
        while let first = heap.min, !live.contains(first.number) { heap.removeMin() }
    }
}
