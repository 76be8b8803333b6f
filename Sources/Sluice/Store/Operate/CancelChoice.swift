/// A choice of actions to cancel: by tag or by queue.
package enum CancelChoice: Sendable {
    case tag(String)
    case queues(QueuePattern.Form)
}
