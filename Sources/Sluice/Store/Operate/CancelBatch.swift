package struct CancelBatch: Sendable {
    package var removed = 0
    /// Actions that run; their handlers must be signalled.
    package var signalled: [ActionID] = []
    package var next: CancelPage?
}
