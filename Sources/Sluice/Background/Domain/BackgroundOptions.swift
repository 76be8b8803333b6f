/// How a ``BackgroundCoordinator`` uses the time that the system gives.
public struct BackgroundOptions: Sendable, Hashable {
    /// How long from now processing time is asked for at the earliest.
    ///
    /// The system may give it much later. Where what is left is due later than that, it is asked for then.
    /// Default: 60 seconds.
    public var processingDelay: Duration = .seconds(60)

    /// How long a wait may be that still counts as work in progress.
    ///
    /// In the background the broker is stopped when nothing runs or is ready and what comes next, a retry
    /// mostly, is due later than this. Default: 5 seconds.
    public var longestPause: Duration = .seconds(5)

    /// How long handlers may go on when the time is over, before they are cancelled.
    ///
    /// Default: zero. Take it from what the system leaves between telling that the time is over and its end.
    public var stopGrace: Duration = .zero

    /// How long cancelled handlers are waited for before the file is let go without them.
    ///
    /// What one returns later is written when the broker runs again. Default: 2 seconds.
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
