enum CancelChoice: Sendable {
    case tag(String, in: QueueName?)
    case queues(QueuePattern.Form)
}
