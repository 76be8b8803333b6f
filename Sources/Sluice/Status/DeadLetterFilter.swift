/// Dead letters of some queues, perhaps of one cause.
package struct DeadLetterFilter: Sendable {
    package var form: QueuePattern.Form
    package var cause: DeadLetterCause?

    package init(form: QueuePattern.Form = .prefix([]), cause: DeadLetterCause? = nil) {
        (self.form, self.cause) = (form, cause)
    }
}
