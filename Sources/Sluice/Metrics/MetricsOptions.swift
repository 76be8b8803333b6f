#if Metrics
public import Metrics

/// What a broker reports to swift-metrics.
///
/// With the trait `Metrics`; see <doc:MetricsAndTracing>. Labelled by kind, never by the name of a queue
/// (G13).
public struct MetricsOptions: Sendable {
    /// Where the metrics go.
    ///
    /// `nil`, the default, is what `MetricsSystem` was bootstrapped with when the broker is opened.
    public var factory: (any MetricsFactory)?

    /// How often depth, ages, parked queues and the size of the log are read from the file while the broker
    /// runs; positive.
    ///
    /// Default: 15 seconds.
    public var interval: Duration = .seconds(15)

    /// The most actions that are counted for the depths, the oldest first; at least 1.
    ///
    /// It bounds the read: 100,000, the default, take some hundredths of a second. Where more wait, the
    /// depths add up to this number.
    public var countedActions = 100_000

    /// The defaults.
    public init() {}

    func validate() throws(SluiceError) {
        guard interval > .zero else {
            throw SluiceError(.invalidOptions, "the interval of the metrics is not positive")
        }
        guard countedActions >= 1 else {
            throw SluiceError(.invalidOptions, "countedActions is \(countedActions); give 1 or more")
        }
    }
}
#endif
