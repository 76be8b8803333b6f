/// A range of sequences, for one batch and those after it.
package struct CancelPage: Sendable {
    package var after: ActionID
    package let through: ActionID

    package init(after: ActionID = ActionID(rawValue: 0), through: ActionID) {
        self.after = after
        self.through = through
    }
}
