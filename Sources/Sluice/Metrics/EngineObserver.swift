/// An observer in the engine, called for each attempt and at intervals.
protocol EngineObserver: Sendable {
    /// How often ``measure(_:)`` is called while the broker runs.
    var interval: Duration { get }
    func started(_ action: ClaimedAction)
    /// Called after an attempt has ended and, if there is a result, has been settled.
    func ended(_ action: ClaimedAction, _ settlement: Settlement, _ result: SettleResult?, after: Duration)
    func measure(_ store: Store) async throws(SluiceError)
}

extension BrokerOptions {
    var observer: (any EngineObserver)? {
        #if Metrics
        metrics.map { MetricsRecorder($0, clock: clock) }
        #else
        nil
        #endif
    }
}
