/// Told of every attempt by the engine itself, and asked to look at the file from time to time.
protocol EngineObserver: Sendable {
    /// How often ``measure(_:)`` is called while the broker runs.
    var interval: Duration { get }

    /// A handler is about to begin.
    func started(_ action: ClaimedAction)

    /// An attempt has ended and has been settled, unless there is no result.
    func ended(_ action: ClaimedAction, _ settlement: Settlement, _ result: SettleResult?, after: Duration)

    /// Looks at what stands in the file, with one bounded read.
    func measure(_ store: Store) async throws(SluiceError)
}

extension BrokerOptions {
    /// Who observes the engine, by the traits that it was built with.
    var observer: (any EngineObserver)? {
        #if Metrics
        metrics.map { MetricsRecorder($0, clock: clock) }
        #else
        nil
        #endif
    }
}
