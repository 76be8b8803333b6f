/// Dead letters of some queues, perhaps of one cause.
package struct DeadLetterFilter: Sendable {
    package var form: QueuePattern.Form
    package var cause: FailureCause?

    package init(form: QueuePattern.Form = .prefix([]), cause: FailureCause? = nil) {
        (self.form, self.cause) = (form, cause)
    }
}
