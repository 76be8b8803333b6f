/// What became of a settlement.
package enum SettleResult: Sendable, Hashable {
    /// It was written.
    case settled
    /// The receipt no longer holds the slot: nothing was written.
    case stale
    /// The action was removed or cancelled while it ran: the slot is free, and the action is gone.
    case removed
    /// The application had settled it with success in a transaction of its own: the slot is free.
    case settledByApplication
}
