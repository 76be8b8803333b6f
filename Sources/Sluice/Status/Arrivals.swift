/// The actions enqueued since an earlier look.
package struct Arrivals: Sendable {
    /// The last sequence given, to be passed to the next call.
    package var last = ActionID(rawValue: 0)
    /// The number of actions enqueued since that still exist.
    package var counts: [QueueName: Int] = [:]

    package init(last: ActionID = ActionID(rawValue: 0), counts: [QueueName: Int] = [:]) {
        (self.last, self.counts) = (last, counts)
    }
}
