internal import Sluice

/// Checks a history, event by event, and notes violations.
struct HistoryCheck {
    /// The known facts of an action.
    private struct Known {
        var queue: QueueName
        /// `nil` if its place is unknown.
        var key: SortKey?
        /// The number of the running attempt.
        var running: Int?
        /// The required number of the next attempt; `nil` is any.
        var next: Int? = 1
        /// How it ended.
        var end: QueueEvent.Kind?
    }

    private var actions: [ActionID: Known] = [:]
    private var running: [QueueName: Set<ActionID>] = [:]
    /// Waiting actions whose place is known.
    private var waiting: [QueueName: Set<ActionID>] = [:]
    private let sortKeys: [ActionID: SortKey]
    private(set) var violations: [EventHistory.Violation] = []

    init(sortKeys: [ActionID: SortKey]) { self.sortKeys = sortKeys }

    mutating func take(_ event: QueueEvent, _ discipline: QueueDiscipline) {
        guard let action = event.action, let queue = event.queue else { return }
        switch event.kind {
        case .enqueued: enqueued(action, queue, isScheduled: event.until != nil)
        case .started: start(action, queue, event.attempt, discipline)
        case .retrying, .released: giveBack(action, event)
        case .succeeded: succeed(action)
        case .failed:
            // A head that may not run again fails without a run.
            if let number = actions[action]?.running {
                stop(action)
                // An attempt with an undecodable payload is not spent.
                actions[action]?.next = event.cause == .undecodable ? number : number + 1
                wait(action)
            }
        case .deadLettered, .removed, .taken: end(action, event.kind)
        case .moved:
            leave(action)
            if let target = event.target { actions[action]?.queue = target }
            wait(action)
        case .requeued:
            leave(action)
            // The event of a requeue at the end, or of a put back action, does not include its place.
            actions[action] = Known(queue: queue)
        case .edited:
            actions[action]?.key = nil
            waiting[queue]?.remove(action)
        default: break
        }
    }

    /// Ends all runs without a result: a death may count as an attempt, or not.
    mutating func crash() {
        for action in running.values.flatMap({ $0 }) {
            stop(action)
            actions[action]?.next = nil
            wait(action)
        }
    }

    // MARK: - Starts

    private mutating func enqueued(_ action: ActionID, _ queue: QueueName, isScheduled: Bool) {
        actions[action] = Known(queue: queue, key: isScheduled ? nil : sortKeys[action])
        wait(action)
    }

    private mutating func start(
        _ action: ActionID,
        _ queue: QueueName,
        _ attempt: Int?,
        _ discipline: QueueDiscipline
    ) {
        // SQL may have moved it to another queue, which the history shows as an edit only.
        if let last = actions[action]?.queue, last != queue { waiting[last]?.remove(action) }
        var known = actions[action] ?? Known(queue: queue, next: nil)
        known.queue = queue
        if let end = known.end { complain("G6", "action \(action) started after it had ended: \(end)") }
        if known.running != nil { complain("G3", "action \(action) started while it ran") }
        let others = running[queue, default: []].subtracting([action])
        if others.count >= discipline.slotCount {
            complain("G3", "action \(action) started in \(queue) beside \(others.sorted())")
        }
        if let next = known.next, let attempt, attempt != next {
            complain("G7", "attempt \(attempt) of action \(action) started in the place of attempt \(next)")
        }
        if discipline == .firstInFirstOut, let key = known.key {
            let overtaken = waiting[queue, default: []].filter { other in
                guard other != action, let otherKey = actions[other]?.key else { return false }
                return otherKey.places(other, before: action, at: key)
            }
            if let first = overtaken.min() {
                complain("G2", "action \(action) started in \(queue) before \(first), which sorts before it")
            }
        }
        actions[action] = known
        actions[action]?.running = attempt ?? 0
        running[queue, default: []].insert(action)
        waiting[queue]?.remove(action)
    }

    // MARK: - Ends

    private mutating func giveBack(_ action: ActionID, _ event: QueueEvent) {
        guard let number = actions[action]?.running else {
            return complain("G6", "\(event.kind): action \(action), which did not run")
        }
        stop(action)
        actions[action]?.next = event.kind == .released ? number : number + 1
        wait(action)
    }

    private mutating func succeed(_ action: ActionID) {
        if actions[action]?.running == nil {
            complain("G6", "succeeded: action \(action), which did not run")
        }
        end(action, .succeeded)
    }

    private mutating func end(_ action: ActionID, _ kind: QueueEvent.Kind) {
        if let end = actions[action]?.end {
            complain("G6", "action \(action) ended twice: \(end), then \(kind)")
        }
        leave(action)
        actions[action]?.end = kind
    }

    // MARK: - Standing

    /// Notes that it waits in its queue.
    private mutating func wait(_ action: ActionID) {
        guard let known = actions[action], known.key != nil, known.end == nil else { return }
        waiting[known.queue, default: []].insert(action)
    }

    /// Notes that it does not run any more.
    private mutating func stop(_ action: ActionID) {
        guard let known = actions[action] else { return }
        running[known.queue]?.remove(action)
        actions[action]?.running = nil
    }

    /// Notes that it neither runs nor waits any more.
    private mutating func leave(_ action: ActionID) {
        stop(action)
        if let queue = actions[action]?.queue { waiting[queue]?.remove(action) }
    }

    private mutating func complain(_ guarantee: String, _ text: String) {
        violations.append(EventHistory.Violation(guarantee: guarantee, text: text))
    }
}

extension QueueDiscipline {
    /// How many actions run at a time.
    var slotCount: Int {
        if case .concurrent(let slots) = self { slots } else { 1 }
    }
}
