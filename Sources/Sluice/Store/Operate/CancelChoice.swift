enum CancelChoice: Sendable {
    case tag(String)
    case queues(QueuePattern.Form)
}
