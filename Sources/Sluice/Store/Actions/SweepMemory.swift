/// What a transaction knows of the sweep of what expires.
struct SweepMemory {
    struct Mark {
        var expiry: Timestamp
        var action: ActionID
    }

    /// How far it has come; `nil`: it begins anew.
    var mark: Mark?
    /// What could not be written: the end of these is seen to when they are their queues' heads.
    var unwritable: Set<ActionID> = []
}
