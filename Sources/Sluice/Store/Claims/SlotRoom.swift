/// The slots that a queue has left beside a claimed action.
package enum SlotRoom: Sendable, Hashable {
    /// The queue has one slot, or the action runs alone.
    case single
    case more
    /// Several actions run, as many as there are slots.
    case full
}
