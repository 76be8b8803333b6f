/// What became of a batch.
package struct CancelBatch: Sendable {
    package var removed = 0
    /// They run: their handlers are to be told.
    package var signalled: [ActionID] = []
    /// Where the next batch begins; `nil` when there is none.
    package var next: CancelPage?
}
