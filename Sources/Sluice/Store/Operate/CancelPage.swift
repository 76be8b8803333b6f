/// Where a batch begins and what it may reach.
package struct CancelPage: Sendable {
    package var after: ActionID
    package let through: ActionID

    package init(after: ActionID = ActionID(rawValue: 0), through: ActionID) {
        self.after = after
        self.through = through
    }
}
