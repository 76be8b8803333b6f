/// Dead letters of some queues, perhaps of one cause.
package struct DeadLetterFilter: Sendable {
    package var form = QueuePattern.Form.prefix([])
    package var cause: DeadLetterCause?
}
