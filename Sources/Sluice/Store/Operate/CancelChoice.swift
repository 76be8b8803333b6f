/// Which actions are cancelled.
package enum CancelChoice: Sendable {
    case tag(String)
    case queues(QueuePattern.Form)
}
