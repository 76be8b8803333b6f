/// A gate that a commit has opened.
package struct GateOpening: Sendable, Hashable {
    package let gate: GateName
    /// The time over which those who wait are to start.
    package let spread: Duration
}
