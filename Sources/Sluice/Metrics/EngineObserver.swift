/// An observer in the engine, called for each attempt and at intervals.
package protocol EngineObserver: Sendable {
    /// How often ``record(_:)`` is called while the broker runs.
    var interval: Duration { get }
    /// The most actions that are counted for it.
    var countedActions: Int { get }
    func started(_ action: ClaimedAction)
    /// Called after an attempt has ended and, if there is a result, has been settled.
    func ended(_ action: ClaimedAction, _ settlement: Settlement, _ result: SettleResult?, after: Duration)
    func record(_ measurement: Measurement)
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
