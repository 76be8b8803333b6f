/// An action that is tried after a crash.
public struct TriedAction: Sendable, Hashable {
    /// The action's queue.
    public let queue: QueueName
    /// The action's number.
    public let action: ActionID
    /// How many others are tried at the same time.
    public let otherCount: Int

    package init(queue: QueueName, action: ActionID, otherCount: Int) {
        (self.queue, self.action, self.otherCount) = (queue, action, otherCount)
    }
}
