/// What a transaction knows of the times of scheduled actions.
struct ScheduleMemory {
    /// No scheduled action is due before; `nil`: the file is to be asked.
    var earliest: Timestamp?
    /// Actions that are due and whose rows cannot be written: they stay as they are, and are tried again.
    var stuck: [ActionID: UnplacedAction] = [:]
    var unplaced: [UnplacedAction] { Array(stuck.values) }

    mutating func add(_ time: Timestamp) {
        if let known = earliest { earliest = min(known, time) }
    }

    /// All that is due is tried again, in one queue or, without one, in all.
    mutating func forgetStuck(of queue: QueueID?) {
        stuck = queue.map { queue in stuck.filter { $0.value.queue != queue } } ?? [:]
    }

    /// Others have written what may be scheduled.
    mutating func forgetTimes() { earliest = nil }
}
