internal import Sluice

/// How a ``BackgroundCoordinator`` uses the time that the system gives.
public struct BackgroundOptions: Sendable, Hashable {
    /// The shortest delay of a request for processing time.
    ///
    /// The system may begin it much later. If the work left is due later than this, the request is for that
    /// time. Default: 60 seconds.
    public var processingDelay: Duration = .seconds(60)

    /// The longest wait that counts as work in progress.
    ///
    /// In the background the broker is stopped when nothing runs or is ready, and the next action, mostly a
    /// retry, is due later than this. Default: 5 seconds.
    public var longestPause: Duration = .seconds(5)

    /// How long handlers may continue when the time is over, before they are cancelled.
    ///
    /// Default: zero. It is part of the time between the system's warning and the end.
    public var stopGrace: Duration = .zero

    /// How long to wait for cancelled handlers before the file is released without them.
    ///
    /// The outcome of a later return is written when the broker runs again. Default: 2 seconds.
    public var patience: Duration = .seconds(2)

    /// The defaults.
    public init() {}

    func validate() throws(SluiceError) {
        for (name, value) in [
            ("processingDelay", processingDelay), ("longestPause", longestPause), ("stopGrace", stopGrace),
            ("patience", patience),
        ] where value < .zero {
            throw SluiceError(.invalidOptions, "\(name) is negative")
        }
    }
}
