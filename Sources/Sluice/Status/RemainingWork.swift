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

extension RemainingWork {
    /// Of two, what is to be done first.
    func sooner(_ other: RemainingWork) -> RemainingWork {
        switch (self, other) {
        case (.now, _), (_, .now): .now
        case (.none, let work), (let work, .none): work
        case (.later(let mine), .later(let its)): .later(min(mine, its))
        }
    }
}
