#if Metrics
/// The outcome of an attempt, as it was written.
enum SettledOutcome: String, CaseIterable {
    case succeeded, retrying, failed, released, removed, stale
}
#endif
