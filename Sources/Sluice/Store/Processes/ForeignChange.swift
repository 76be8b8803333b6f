package struct ForeignChange: Sendable, Hashable {
    package let queue: QueueID
    package let action: ActionID?
    /// The change as named in `sluice_changes`.
    package let change: String

    package var isDeletion: Bool { change == "delete" }
    /// Whether the handler of the action must end, if it runs.
    package var endsRun: Bool { isDeletion || change == "cancel" }
}
