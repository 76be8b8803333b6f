/// A range of sequences, for one batch and those after it.
struct CancelPage: Sendable {
    var after = ActionID(rawValue: 0)
    let through: ActionID
}
