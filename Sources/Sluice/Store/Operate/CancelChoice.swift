enum CancelChoice: Sendable {
    case tag(String, in: QueueName? = nil)
    case queues(QueuePattern.Form)
}
