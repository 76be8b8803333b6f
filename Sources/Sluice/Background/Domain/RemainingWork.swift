/// What a broker has to do by itself.
///
/// What is parked or held without an end, waits for a gate, or has no route does not count: time alone does
/// not bring it.
public enum RemainingWork: Sendable, Hashable {
    /// Nothing.
    case none
    /// Nothing runs or is ready; what comes first, a retry or something scheduled, is due after so long.
    case later(Duration)
    /// Something runs, or could at once.
    case now
}
