#if Metrics
internal import Metrics
internal import Synchronization

final class MetricsRecorder: EngineObserver {
    /// The most kinds with labels of their own; a writer of the file can invent more, which share `other`.
    static let kindLimit = 200

    private struct State {
        var kinds: [String: KindMetrics] = [:]
        /// Gauges by reason; once reported, a gauge stays, so that it can return to zero.
        var parked: [String: Gauge] = [:]
    }

    private let options: MetricsOptions
    private let factory: any MetricsFactory
    private let clock: any BrokerClock
    private let state = Mutex(State())
    private let walSize: Gauge

    init(_ options: MetricsOptions, clock: any BrokerClock) {
        self.options = options
        self.clock = clock
        factory = options.factory ?? MetricsSystem.factory
        walSize = Gauge(label: "sluice_wal_bytes", factory: factory)
    }

    var interval: Duration { options.interval }
    var countedActions: Int { options.countedActions }

    func started(_ action: ClaimedAction) {
        let metrics = metrics(of: action.kind)
        metrics.running.increment()
        guard action.number == 1 else { return }
        // The wall clock may have been set back since then.
        metrics.latency.record(duration: max(clock.now - action.enqueuedAt, .zero))
    }

    func ended(_ action: ClaimedAction, _ settlement: Settlement, _ result: SettleResult?, after: Duration) {
        let metrics = metrics(of: action.kind)
        metrics.running.decrement()
        metrics.duration.record(duration: after)
        if let outcome = settlement.outcome(result) { metrics.settled[outcome]?.increment() }
    }

    func record(_ measurement: Measurement) {
        let now = clock.now
        var depths: [String: (depth: Int, oldest: Timestamp)] = [:]
        for kind in measurement.kinds {
            let label = metrics(of: kind.name).kind
            let known = depths[label] ?? (0, kind.oldest)
            depths[label] = (known.depth + kind.depth, min(known.oldest, kind.oldest))
        }
        for (kind, metrics) in state.withLock({ $0.kinds }) {
            let found = depths[kind]
            metrics.depth.record(found?.depth ?? 0)
            metrics.oldest.record(found.map { max(now - $0.oldest, .zero) / .seconds(1) } ?? 0)
        }
        let label = "sluice_parked_queues"
        let parked = state.withLock { state in
            for reason in measurement.parked.keys where state.parked[reason] == nil {
                state.parked[reason] = Gauge(label: label, dimensions: [("reason", reason)], factory: factory)
            }
            return state.parked
        }
        for (reason, gauge) in parked { gauge.record(measurement.parked[reason] ?? 0) }
        if let size = measurement.walByteCount { walSize.record(size) }
    }

    private func metrics(of kind: String) -> KindMetrics {
        state.withLock { state in
            if let known = state.kinds[kind] { return known }
            let label = state.kinds.count < Self.kindLimit ? kind : "other"
            if let known = state.kinds[label] { return known }
            let metrics = KindMetrics(label, factory)
            state.kinds[label] = metrics
            return metrics
        }
    }
}

private enum SettledOutcome: String, CaseIterable {
    case succeeded, retrying, failed, released, removed, stale
}

private struct KindMetrics: Sendable {
    let kind: String
    let depth: Gauge
    let oldest: Gauge
    let running: Meter
    let settled: [SettledOutcome: Counter]
    let duration: Timer
    let latency: Timer

    init(_ kind: String, _ factory: any MetricsFactory) {
        self.kind = kind
        let dimensions = [("kind", kind)]
        depth = Gauge(label: "sluice_depth", dimensions: dimensions, factory: factory)
        oldest = Gauge(label: "sluice_oldest_age_seconds", dimensions: dimensions, factory: factory)
        running = Meter(label: "sluice_running", dimensions: dimensions, factory: factory)
        let outcomes = SettledOutcome.allCases.map { outcome in
            let dimensions = dimensions + [("outcome", outcome.rawValue)]
            return (outcome, Counter(label: "sluice_settled_total", dimensions: dimensions, factory: factory))
        }
        settled = Dictionary(uniqueKeysWithValues: outcomes)
        duration = Timer(label: "sluice_attempt_duration", dimensions: dimensions, factory: factory)
        latency = Timer(label: "sluice_start_latency", dimensions: dimensions, factory: factory)
    }
}

extension Settlement {
    /// `nil` if it was left to the next start of a broker.
    fileprivate func outcome(_ result: SettleResult?) -> SettledOutcome? {
        switch (result, self) {
        case (nil, _): nil
        case (.stale, _): .stale
        case (.removed, _): .removed
        case (.settled, .success), (.settled, .successWriting), (.settledByApplication, _): .succeeded
        case (.settled, .retry): .retrying
        case (.settled, .fail): .failed
        case (.settled, .release), (.settled, .stop): .released
        }
    }
}
#endif
