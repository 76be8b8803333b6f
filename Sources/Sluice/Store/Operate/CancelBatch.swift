/// The result of cancelling a batch of actions.
package struct CancelBatch: Sendable {
    package var removed = 0
    /// Actions that run; their handlers must be signalled.
    package var signalled: [ActionID] = []
    /// The page of the next batch; `nil` if there is none.
    package var next: CancelPage?
}
