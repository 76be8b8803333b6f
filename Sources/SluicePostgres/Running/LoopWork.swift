#if PostgreSQL
internal import Sluice

/// What only the running loop touches.
struct LoopWork {
    var epoch: Int64 = 0
    var nextClaim: Int64 = 0
    /// The block of the arrivals' table from which the next step looks.
    var arrivalsFrom = "0"
    /// When the last step that looked at all arrivals ended, and how long it took.
    var wholeLook = (end: ContinuousClock.now, cost: Duration.zero)
    var mustResync = false
    /// The last chores, in real time.
    var choresDone: ContinuousClock.Instant?
    /// By this process's clock: when something is due that chores must do first.
    var due: Timestamp?
    var pause = Self.shortestPause
    /// How long the payloads of an answer may be together; less after one that did not come in time.
    var mostBytes = Self.mostBytes

    /// As much as a connection of ten megabits a second carries within a third of the default lease.
    static let mostBytes = 8_000_000

    /// Between the looks of an idle worker at first.
    static let shortestPause: Duration = .milliseconds(20)
}
#endif
