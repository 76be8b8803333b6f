/// Remembers the earliest time of scheduled actions, and the actions that cannot be placed.
struct ScheduleMemory {
    /// A time before which no scheduled action is due; `nil` if the file must be read.
    var earliest: Timestamp?
    /// Due actions whose rows cannot be written; they stay as they are, and are tried again.
    var stuck: [ActionID: UnplacedAction] = [:]
    var unplaced: [UnplacedAction] { Array(stuck.values) }

    mutating func add(_ time: Timestamp) {
        if let known = earliest { earliest = min(known, time) }
    }

    /// Forgets the stuck actions of one queue, or of all, so that they are tried again.
    mutating func forgetStuck(of queue: QueueID?) {
        stuck = queue.map { queue in stuck.filter { $0.value.queue != queue } } ?? [:]
    }

    /// Forgets the earliest time, since other connections may have scheduled actions.
    mutating func forgetTimes() { earliest = nil }
}
