package enum SettleResult: Sendable, Hashable {
    case settled
    /// The receipt does not hold the slot, and nothing was written.
    case stale
    /// The action was removed or cancelled while it ran; it is deleted, and the slot is free.
    case removed
    /// The application had settled it with success in a transaction of its own; the slot is free.
    case settledByApplication
}
