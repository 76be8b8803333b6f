/// The wait of one action for one retry; another retry, or an edit of the time, is another wait.
package struct RetryWait: Hashable, Sendable {
    package let action: ActionID
    /// As the file has it.
    package let nextAttemptAt: Timestamp

    package init(action: ActionID, nextAttemptAt: Timestamp) {
        self.action = action
        self.nextAttemptAt = nextAttemptAt
    }
}
