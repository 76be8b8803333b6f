/// A gate that a commit has opened.
package struct GateOpening: Sendable, Hashable {
    package let gate: GateName
    /// The time over which the starts of waiting actions are spread.
    package let spread: Duration
}
