package struct DeadLetterFilter: Sendable {
    package var form = QueuePattern.Form.prefix([])
    package var cause: DeadLetterCause?

    package init(form: QueuePattern.Form = .prefix([]), cause: DeadLetterCause? = nil) {
        self.form = form
        self.cause = cause
    }
}
