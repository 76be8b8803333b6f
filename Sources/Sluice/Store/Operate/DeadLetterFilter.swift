struct DeadLetterFilter: Sendable {
    var form = QueuePattern.Form.prefix([])
    var cause: DeadLetterCause?
}
