/// A change that another connection has logged.
package struct ForeignChange: Sendable, Hashable {
    package let queue: QueueID
    package let action: ActionID?
    /// As `sluice_changes` names it.
    package let change: String

    package var isDeletion: Bool { change == "delete" }

    /// Whether the handler of the action is to end, if it runs.
    package var endsRun: Bool { isDeletion || change == "cancel" }
}
