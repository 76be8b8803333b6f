/// Actions that other connections have added.
struct Newcomers {
    var queues: [QueueID] = []
    /// Whether one of them is scheduled or expires.
    var haveTimes = false
}
