/// The result of an edit.
public enum ActionChange: Sendable, Hashable {
    /// The change is stored and in effect.
    case done
    /// The action runs. The change is stored, and takes effect when the attempt ends.
    case deferred
    /// The action runs, and nothing has been changed.
    case running
    /// The stored payload is not the expected one, and nothing has been changed.
    case conflict
    /// There is no such action: it never existed, it has been settled, or it is a dead letter.
    case missing
}
