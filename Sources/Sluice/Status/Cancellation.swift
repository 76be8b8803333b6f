/// The result of a cancellation.
///
/// Later versions may add cases: a `switch` of an application needs a `default`.
#if hasAttribute(nonexhaustive)
@nonexhaustive
#endif
public enum Cancellation: Sendable, Hashable {
    /// The action was waiting, and has been removed.
    case removed
    /// The action runs: its handler has been signalled.
    case signalled
    /// There is no such action: it never existed, or it has been settled.
    case tooLate
}
