/// Remembers the progress of the sweep of expired actions.
struct SweepMemory {
    struct Mark {
        var expiry: Timestamp
        var action: ActionID
    }

    /// The last action that was swept; `nil` if the sweep starts from the beginning.
    var mark: Mark?
    /// Expired actions that could not be written; their expiry is handled when they are heads.
    var unwritable: Set<ActionID> = []
}
