#if Metrics
public import Metrics

/// The reports of a broker to swift-metrics, with the trait `Metrics`; see <doc:MetricsAndTracing>.
///
/// Labels are kinds, never names of queues (G13).
public struct MetricsOptions: Sendable {
    /// The receiver; `nil`, the default, is the factory of `MetricsSystem` when the broker is opened.
    public var factory: (any MetricsFactory)?
    /// How often the file is read for depth, ages, parked queues and the WAL's size; by default 15 s.
    public var interval: Duration = .seconds(15)

    /// The most actions that are counted for the depths, the oldest first; at least 1.
    ///
    /// It bounds the read: 100,000, the default, take some hundredths of a second. If more actions wait, the
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
