internal import HeapModule

/// A priority queue of deadlines, the earliest first.
struct DeadlineQueue {
    enum Subject: Hashable {
        case queue(QueueID)
        case attempt(Int64)
        case chore(Chore)

        fileprivate func isWork(ofChores: Bool) -> Bool {
            switch self {
            case .queue, .attempt: true
            case .chore(let chore): ofChores && [.admitScheduled, .sweep, .endControls].contains(chore)
            }
        }
    }

    struct Deadline: Comparable {
        let time: Duration
        /// Distinguishes it from others at the same time, and from earlier ones of the same subject.
        let number: Int
        let subject: Subject

        static func < (a: Deadline, b: Deadline) -> Bool { (a.time, a.number) < (b.time, b.number) }
    }

    private var heap: Heap<Deadline> = []
    /// Those neither reached nor removed; removed ones stay in the heap until they are the first or too many.
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

    /// The next time at which a queue, an attempt or a chore that is not routine is due; it scans all.
    func nextDueTime(after now: Duration, ofChores: Bool) -> Duration? {
        heap.unordered.lazy.filter { [live] in
            $0.time > now && live.contains($0.number) && $0.subject.isWork(ofChores: ofChores)
        }.map(\.time).min()
    }

    mutating func removeAttempt(_ claim: Int64) {
        if let number = attempts.removeValue(forKey: claim) { remove(number) }
    }

    mutating func set(_ chore: Chore, at time: Duration?) {
        if let known = chores.removeValue(forKey: chore) { remove(known.number) }
        if let time { add(.chore(chore), at: time) }
    }

    func time(of chore: Chore) -> Duration? { chores[chore]?.time }
    var first: Duration? { heap.min?.time }

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

    mutating func remove(_ number: Int) {
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
