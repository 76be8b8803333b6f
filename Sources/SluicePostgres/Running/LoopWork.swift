#if PostgreSQL
internal import Logging
internal import Sluice

/// What only the running loop touches.
struct LoopWork {
    var epoch: Int64 = 0
    var nextClaim: Int64 = 0
    /// The block of the arrivals' table from which the next step looks.
    var arrivalsFrom = "0"
    /// When the last step that looked at all arrivals ended, by ``WorkPlace/now``, and how long it took.
    var wholeLook = (end: Duration.zero, cost: Duration.zero)
    var mustResync = false
    /// The last chores, by ``WorkPlace/now``.
    var choresDone: Duration?
    /// By this process's clock: when something is due that chores must do first.
    var due: Timestamp?
    var pause = Self.shortestPause
    var oversights = OversightLooks()
    /// How long the payloads of an answer may be together; less after one that did not come in time.
    ///
    /// One action is claimed however long it is.
    private(set) var mostBytes = Self.mostBytes

    /// As much as a connection of ten megabits a second carries within a third of the default lease.
    static let mostBytes = 8_000_000

    /// Between the looks of an idle worker at first.
    static let shortestPause: Duration = .milliseconds(20)

    init() {}
    /// Of the next worker of this process, which has the same link.
    init(after other: LoopWork) { mostBytes = other.mostBytes }

    /// Whether nothing may be claimed any more under the worker's number.
    func isUsedUp(_ limit: Int64) -> Bool {
        epoch != 0 && nextClaim - epoch << 32 > limit && !mutant("server claim numbers")
    }

    /// Asks for less, since an answer did not come in the time that it had; warns if less is not possible.
    mutating func wasTooLate(_ lease: Duration, _ logger: Logger) {
        if mostBytes == 1 {
            let text = "one action does not come in a third of the lease: a longer lease is needed"
            logger.warning("\(text)", metadata: ["lease": "\(lease)"])
        }
        if !mutant("server slow link") { mostBytes = max(mostBytes / 4, 1) }
    }

    /// Asks for more, if an answer that was as long as allowed came in a quarter of the time that it had.
    mutating func came(_ rows: PostgresRows, in time: Duration, of limit: Duration) {
        guard mostBytes < Self.mostBytes, time < limit / 4 else { return }
        let bytes = rows.reduce(0) { $0 + ($1["payload"]?.utf8.count ?? 0) }
        if bytes >= mostBytes / 2 { mostBytes = min(mostBytes * 2, Self.mostBytes) }
    }
}
#endif
