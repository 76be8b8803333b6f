@testable import EngineSupport
@testable import Sluice

/// What a broker with a few queues should do, written down as plainly as it can be.
///
/// The rules of each queue's discipline are those of ``ReferenceQueue``; here stands what parks, holds,
/// moves, sets aside and ends.
struct ReferenceBroker {
    /// What is known of an action beside its place.
    struct Facts: Equatable {
        var attempts = 0
        /// In microseconds; what the last wait was asked to be.
        var delay: Int64?
        var isReleased = false
        var isCancelled = false
        /// The queue that it goes to when its attempt ends.
        var movesTo: Int?
        /// How many openings of gates there had been when its attempt began.
        var openingAtStart = 0
        /// Before that time it has no place.
        var scheduledFor: Int64?
    }

    struct Dead: Hashable {
        var queue: Int
        var key: Int64
        var cause: FailureCause
        var attempts: Int
        var gate: String?
    }

    struct Rules {
        var discipline: QueueDiscipline
        var failed: FailurePolicy
        var exhausted: FailurePolicy
        /// The most attempts, with two seconds between them.
        var attempts = 3
    }

    static let retryDelay: Int64 = 2_000_000
    static let releaseDelay: Int64 = 1_000_000
    static let longestReleaseDelay: Int64 = 60_000_000

    let rules: Rules
    var now: Int64
    private(set) var queues: [ReferenceQueue]
    private(set) var facts: [Int64: Facts] = [:]
    private(set) var dead: [Int64: Dead] = [:]
    /// By queue, the action that has parked it.
    private(set) var parked: [Int: Int64] = [:]
    private(set) var held: Set<Int> = []
    private var gates: [String: (isOpen: Bool, opening: Int)] = [:]
    private var opening = 0

    init(queueCount: Int, rules: Rules, now: Int64) {
        self.rules = rules
        self.now = now
        queues = (0..<queueCount).map { _ in ReferenceQueue(rules.discipline) }
    }
}

// MARK: - Looking

extension ReferenceBroker {
    var isFirstInFirstOut: Bool { rules.discipline == .firstInFirstOut }

    /// By number, all that wait or run.
    var actions: [Int64] { queues.flatMap { $0.entries.map(\.id) }.sorted() }

    var running: [Int64] { queues.flatMap { $0.entries.filter(\.isRunning).map(\.id) }.sorted() }

    func queue(of action: Int64) -> Int? {
        queues.firstIndex { $0.entries.contains { $0.id == action } }
    }

    private func entry(_ action: Int64) -> ReferenceQueue.Entry? {
        queues.lazy.compactMap { $0.entries.first { $0.id == action } }.first
    }

    /// Why a queue in order does not move.
    func state(of queue: Int) -> QueueStatus.State {
        let entries = queues[queue].entries.sorted { $0.place < $1.place }
        guard !entries.isEmpty else { return .empty }
        if entries.contains(where: \.isRunning) { return .running }
        if parked[queue] != nil { return .parked }
        if held.contains(queue) { return .held }
        guard let head = entries.first(where: { facts[$0.id]?.scheduledFor == nil }) else {
            return .scheduled
        }
        let asked = [head.ownGate, head.namedGate].compactMap { $0 }
        if !asked.allSatisfy({ gates[$0]?.isOpen == true }) { return .gate }
        if let due = head.dueAt, due > now { return .retry }
        return .ready
    }
}

// MARK: - What the application and the operator do

extension ReferenceBroker {
    mutating func enqueue(_ id: Int64, in queue: Int, key: Int64, gate: String?, notBefore: Int64?) {
        var entry = ReferenceQueue.Entry(id: id, key: key)
        entry.ownGate = gate
        queues[queue].entries.append(entry)
        facts[id] = Facts(scheduledFor: notBefore)
    }

    mutating func cancel(_ id: Int64) {
        guard let entry = entry(id) else { return }
        if entry.isRunning { facts[id]?.isCancelled = true } else { remove(id) }
    }

    mutating func move(_ id: Int64, to target: Int) {
        guard let entry = entry(id), let queue = queue(of: id) else { return }
        if queue == target {
            facts[id]?.movesTo = nil
        } else if entry.isRunning {
            facts[id]?.movesTo = target
        } else {
            relocate(id, to: target)
        }
    }

    mutating func moveToFront(_ id: Int64) {
        guard let entry = entry(id), !entry.isRunning, let queue = queue(of: id) else { return }
        let first = nextPlace(in: queue)
        var key = entry.key
        if let first, first < entry.place { key = id < first.id ? first.key : first.key - 1 }
        facts[id]?.scheduledFor = nil
        change(id) { $0.key = key }
    }

    /// What has its place, does not run, and comes first; nothing if a scheduled action comes before.
    private func nextPlace(in queue: Int) -> ReferenceQueue.Spot? {
        let waiting = queues[queue].entries.filter { !$0.isRunning && facts[$0.id]?.scheduledFor == nil }
        return waiting.map(\.place).min()
    }

    mutating func skipHead(of queue: Int) {
        guard !queues[queue].entries.contains(where: \.isRunning) else { return }
        // The action that has parked the queue, whatever has come before it since.
        guard let id = parked[queue] ?? nextPlace(in: queue)?.id else { return }
        makeDeadLetter(id, .skipped)
        lift(queue, by: id)
    }

    mutating func retryNow(_ queue: Int) {
        for entry in queues[queue].entries where !entry.isRunning && entry.dueAt != nil {
            change(entry.id) { $0.dueAt = nil }
            facts[entry.id]?.delay = nil
        }
        parked[queue] = nil
    }

    mutating func requeue(_ id: Int64) {
        guard let letter = dead.removeValue(forKey: id) else { return }
        enqueue(id, in: letter.queue, key: letter.key, gate: letter.gate, notBefore: nil)
    }

    mutating func setGate(_ gate: String, isOpen: Bool) {
        let isOpened = isOpen && gates[gate]?.isOpen != true
        if isOpened { opening += 1 }
        gates[gate] = (isOpen, isOpened ? opening : gates[gate]?.opening ?? 0)
    }

    mutating func hold(_ queue: Int) { held.insert(queue) }

    mutating func resume(_ queue: Int) { held.remove(queue) }

    /// The broker stops, the wall clock jumps, and the broker runs again.
    mutating func restart(jump: Int64) {
        for id in running {
            if facts[id]?.isCancelled == true {
                remove(id)
            } else {
                giveBack(id)
            }
        }
        now += jump
        for id in actions {
            if facts[id]?.isReleased == true {
                facts[id]?.isReleased = false
                facts[id]?.delay = nil
                change(id) { ($0.dueAt, $0.namedGate) = (nil, nil) }
            }
            // Never longer than was asked.
            let (now, delay) = (now, facts[id]?.delay ?? 0)
            change(id) { entry in entry.dueAt = entry.dueAt.map { $0 - delay > now ? now + delay : $0 } }
        }
    }
}

// MARK: - How attempts end

extension ReferenceBroker {
    enum End: Hashable {
        case success
        /// By the policy, or with a delay in seconds.
        case retry(after: Int64?)
        case retryWhenOpen(String)
        case fail
        case release
        case releaseUntilOpen(String)
        case error
    }

    mutating func finish(_ id: Int64, _ end: End) {
        guard entry(id)?.isRunning == true, let known = facts[id] else { return }
        if end == .success { return leave(id) }
        if known.isCancelled { return remove(id) }
        switch end {
        case .success: break
        case .release: wait(id, Self.releaseDelay, gate: nil, isSpent: false)
        case .releaseUntilOpen(let gate): wait(id, Self.releaseDelay, gate: gate, isSpent: false)
        case .fail: fail(id, .failed, rules.failed)
        case .retry(let seconds): retry(id, seconds.map { $0 * 1_000_000 } ?? Self.retryDelay, gate: nil)
        case .error: retry(id, Self.retryDelay, gate: nil)
        case .retryWhenOpen(let gate): retry(id, Self.retryDelay, gate: gate)
        }
    }

    private mutating func retry(_ id: Int64, _ delay: Int64, gate: String?) {
        let number = (facts[id]?.attempts ?? 0) + 1
        guard number < rules.attempts else { return fail(id, .exhausted, rules.exhausted) }
        wait(id, delay, gate: gate, isSpent: true)
    }

    private mutating func wait(_ id: Int64, _ delay: Int64, gate: String?, isSpent: Bool) {
        guard let queue = queue(of: id), let known = facts[id] else { return }
        var wait: Int64? = delay
        if let gate {
            let state = gates[gate]
            wait = state?.isOpen != true ? nil : (state?.opening ?? 0) > known.openingAtStart ? 0 : delay
            if !isSpent, let asked = wait, asked > 0, known.isReleased {
                // Nothing else would slow down an action that is released by an open gate again and again.
                wait = max(asked, min((known.delay ?? 0) * 2, Self.longestReleaseDelay))
            }
        }
        queues[queue].now = now
        queues[queue].giveBack(id, after: wait ?? 0, gate: gate)
        if wait == nil { change(id) { $0.dueAt = nil } }
        facts[id]?.delay = wait
        facts[id]?.isReleased = !isSpent
        if isSpent { facts[id]?.attempts += 1 }
        moveOn(id)
    }

    /// The broker stops: nothing is spent, and nothing waits that did not before.
    private mutating func giveBack(_ id: Int64) {
        guard let queue = queue(of: id), let due = entry(id)?.dueAt else {
            change(id) { $0.isRunning = false }
            return moveOn(id)
        }
        queues[queue].giveBack(id, after: 0, hasFailed: false)
        change(id) { $0.dueAt = due }
        moveOn(id)
    }

    private mutating func fail(_ id: Int64, _ cause: FailureCause, _ policy: FailurePolicy) {
        guard let queue = queue(of: id), let place = entry(id)?.place else { return }
        facts[id]?.attempts += 1
        switch policy {
        case .block:
            if parked[queue] == nil { parked[queue] = id }
            change(id) { $0.isRunning = false }
            moveOn(id)
        case .skip: makeDeadLetter(id, cause)
        case .failQueue where parked[queue] != nil:
            // By one that ran beside it: it is tried again with that.
            change(id) { $0.isRunning = false }
            moveOn(id)
        case .failQueue:
            let isReversed = rules.discipline == .lastInFirstOut
            let behind = queues[queue].entries.filter { entry in
                !entry.isRunning && (isReversed ? entry.place < place : entry.place > place)
            }
            makeDeadLetter(id, cause)
            for entry in behind { makeDeadLetter(entry.id, .behind) }
        }
    }

    /// It goes where it was to go when its attempt ends.
    private mutating func moveOn(_ id: Int64) {
        guard let target = facts[id]?.movesTo else { return }
        facts[id]?.movesTo = nil
        relocate(id, to: target)
    }

    private mutating func relocate(_ id: Int64, to target: Int) {
        guard let entry = entry(id), let queue = queue(of: id) else { return }
        queues[queue].remove(id)
        queues[target].entries.append(entry)
        lift(queue, by: id)
    }

    private mutating func remove(_ id: Int64) {
        guard let queue = queue(of: id) else { return }
        leave(id)
        lift(queue, by: id)
    }

    private mutating func leave(_ id: Int64) {
        guard let queue = queue(of: id) else { return }
        queues[queue].remove(id)
        facts[id] = nil
    }

    private mutating func makeDeadLetter(_ id: Int64, _ cause: FailureCause) {
        guard let queue = queue(of: id), let entry = entry(id) else { return }
        let attempts = facts[id]?.attempts ?? 0
        dead[id] = Dead(queue: queue, key: entry.key, cause: cause, attempts: attempts, gate: entry.ownGate)
        leave(id)
    }

    private mutating func lift(_ queue: Int, by id: Int64) {
        if parked[queue] == id { parked[queue] = nil }
    }

    private mutating func change(_ id: Int64, _ change: (inout ReferenceQueue.Entry) -> Void) {
        for queue in queues.indices {
            guard let index = queues[queue].entries.firstIndex(where: { $0.id == id }) else { continue }
            change(&queues[queue].entries[index])
        }
    }
}

// MARK: - What follows

extension ReferenceBroker {
    /// Starts whatever can start.
    mutating func settleDown() {
        for id in actions where (facts[id]?.scheduledFor).map({ $0 <= now }) == true {
            facts[id]?.scheduledFor = nil
        }
        let open = Set(gates.filter(\.value.isOpen).keys)
        for queue in queues.indices where parked[queue] == nil && !held.contains(queue) {
            // What is scheduled has no place: the queue does not see it.
            let hidden = queues[queue].entries.filter { facts[$0.id]?.scheduledFor != nil }
            queues[queue].entries.removeAll { facts[$0.id]?.scheduledFor != nil }
            queues[queue].openGates = open
            queues[queue].now = now
            while case .run(let id) = queues[queue].claim() { facts[id]?.openingAtStart = opening }
            queues[queue].entries += hidden
        }
    }
}
