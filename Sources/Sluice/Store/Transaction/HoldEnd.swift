/// The time at which the hold on a queue ends by itself.
package enum HoldEnd: Hashable, Comparable, Sendable {
    /// Ends at a time by the clock's uptime, if no other hold is added.
    case at(Duration)
    case never
}
