/// What a queue has left to start beside an action that has been claimed.
package enum SlotRoom: Sendable, Hashable {
    /// It has one slot, or the action runs alone.
    case single
    /// Slots are left.
    case more
    /// Several actions run, as many as may.
    case full
}
