struct CancelBatch: Sendable {
    var removed = 0
    /// Actions that run; their handlers must be signalled.
    var signalled: [ActionID] = []
    var next: CancelPage?
}
