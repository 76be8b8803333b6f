/// When a queue that is held moves again by itself.
package enum HoldEnd: Hashable, Comparable, Sendable {
    /// At a time by the clock's uptime, if no other hold comes.
    case at(Duration)
    case never
}
