/// The work that a broker has by time alone.
///
/// Actions that are parked, held without an end, or have no route do not count, nor those at a closed gate,
/// unless it opens by itself.
public enum RemainingWork: Sendable, Hashable {
    /// Nothing.
    case none
    /// Nothing runs or is ready; the first action, retried or scheduled, is due after this time.
    case later(Duration)
    /// Something runs, or could at once.
    case now

    package func sooner(_ other: RemainingWork) -> RemainingWork {
        switch (self, other) {
        case (.now, _), (_, .now): .now
        case (.none, let work), (let work, .none): work
        case (.later(let mine), .later(let its)): .later(min(mine, its))
        }
    }
}
