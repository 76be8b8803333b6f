package enum CancelResult: Sendable, Hashable {
    /// The action waited, and is deleted.
    case removed
    /// The action runs, and is deleted when its attempt ends without success.
    case marked
    /// The action does not exist: it never did, or it is settled.
    case missing
}
