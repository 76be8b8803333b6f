/// The wait of one action for one retry; another retry or a changed time makes another wait.
package struct RetryWait: Hashable, Sendable {
    package let action: ActionID
    /// The time recorded in the file.
    package let nextAttemptAt: Timestamp
}
