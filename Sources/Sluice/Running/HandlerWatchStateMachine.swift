/// Decides whether handlers block their threads: an empty probe has not run within the threshold.
struct HandlerWatchStateMachine {
    enum Decision: Equatable {
        case probe
        case tell(since: Timestamp)
        case wait
        /// No handler runs: stop the checks.
        case end
    }

    private let threshold: Duration
    private var probe: (uptime: Duration, time: Timestamp)?
    /// Since when nothing has run; set from the report until a probe runs.
    private(set) var blockedSince: Timestamp?

    init(threshold: Duration) { self.threshold = threshold }

    mutating func look(at uptime: Duration, _ time: Timestamp, isBusy: Bool) -> Decision {
        guard let probe else {
            guard isBusy else { return .end }
            self.probe = (uptime, time)
            return .probe
        }
        guard uptime - probe.uptime >= threshold, blockedSince == nil, !mutant("blocked handlers") else {
            return .wait
        }
        blockedSince = probe.time
        return .tell(since: probe.time)
    }

    /// Notes that the probe has run; returns whether it had been reported as overdue.
    mutating func answered() -> Bool {
        defer { (probe, blockedSince) = (nil, nil) }
        return blockedSince != nil
    }
}
