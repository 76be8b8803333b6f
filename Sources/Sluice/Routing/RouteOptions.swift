/// How the actions of a route are run.
public struct RouteOptions: Sendable {
    /// When an attempt that failed is tried again.
    ///
    /// Default: ``ExponentialRetry`` without a limit of attempts.
    public var retry: any RetryPolicy

    /// What follows when an action cannot go on.
    public var failure: FailurePolicies

    /// How long an attempt may take before its handler is cancelled; `nil`, the default, is no limit.
    ///
    /// A handler that does not heed the cancellation keeps its queue until it returns.
    public var timeout: Duration?

    /// How many handlers of the route run at the same time at most; `nil`, the default, is as many as the
    /// broker allows in all.
    ///
    /// A cap below ``BrokerOptions/concurrency`` keeps a slow route from taking every permit (G9).
    public var concurrency: Int?

    /// Gates that must be open for an action of the route to start; none by default.
    ///
    /// An action whose gate closes while it runs is not touched.
    public var gates: [GateName]

    /// The number of deaths of the process while the action ran alone after which it counts as
    /// ``FailureCause/crashed``; at least 1.
    ///
    /// Default: 3.
    public var crashLimit: Int

    /// How long a head that was released waits; at least a second.
    ///
    /// Default: a second.
    public var releaseDelay: Duration

    /// Makes a set of options.
    public init(
        retry: any RetryPolicy = ExponentialRetry(),
        failure: FailurePolicies = FailurePolicies(),
        timeout: Duration? = nil,
        concurrency: Int? = nil,
        gates: [GateName] = [],
        crashLimit: Int = 3,
        releaseDelay: Duration = .seconds(1)
    ) {
        self.retry = retry
        self.failure = failure
        self.timeout = timeout
        self.concurrency = concurrency
        self.gates = gates
        self.crashLimit = crashLimit
        self.releaseDelay = releaseDelay
    }

    func validate() throws(SluiceError) {
        for gate in gates { try gate.validate() }
        if let timeout, timeout <= .zero {
            throw SluiceError(.invalidOptions, "a route's timeout is not positive")
        }
        if let concurrency, concurrency < 1 {
            throw SluiceError(.invalidOptions, "a route's concurrency is \(concurrency); give 1 or more")
        }
        guard crashLimit >= 1 else {
            throw SluiceError(.invalidOptions, "a route's crashLimit is \(crashLimit); give 1 or more")
        }
        guard releaseDelay >= .seconds(1) else {
            throw SluiceError(
                .invalidOptions,
                "a route's releaseDelay is below a second: the head could spin"
            )
        }
    }
}
