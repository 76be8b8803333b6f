/// What became of a cancellation.
package enum CancelResult: Sendable, Hashable {
    /// The action waited, and is gone.
    case removed
    /// The action runs: it is removed when its attempt ends with anything but success.
    case marked
    /// There is no such action: it never was, or it has been settled.
    case missing
}
