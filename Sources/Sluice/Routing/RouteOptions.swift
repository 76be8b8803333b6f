/// How the actions of a route are run.
public struct RouteOptions: Sendable {
    /// When a failed attempt is tried again; by default exponentially, without a limit of attempts.
    public var retry: RetryPolicy
    /// What to do with an action that cannot continue.
    public var failure: FailurePolicies
    /// How long an attempt may take until its handler is cancelled, and should return; by default no limit.
    public var timeout: Duration?
    /// The most handlers of the route at a time, to leave permits to others; by default no limit of its own.
    public var concurrency: Int?
    /// How many actions of the route may start in a time, in all processes; by default no limit.
    public var rate: RateLimit?
    /// Gates that must be open for an action of the route to start; one that runs is not affected.
    public var gates: [GateName]
    /// How often, at least once, the process may die while an action runs alone: then it is `crashed`.
    public var crashLimit: Int
    /// How long a released head waits; at least a second.
    public var releaseDelay: Duration
    /// Whether the route takes the place of the routes of its pattern for its kinds, at once.
    ///
    /// Without it a second one is refused, and so is a route by predicate with it.
    public var replaces: Bool

    /// Makes a set of options.
    public init(
        retry: RetryPolicy = .exponential(),
        failure: FailurePolicies = FailurePolicies(),
        timeout: Duration? = nil,
        concurrency: Int? = nil,
        rate: RateLimit? = nil,
        gates: [GateName] = [],
        crashLimit: Int = 3,
        releaseDelay: Duration = .seconds(1),
        replaces: Bool = false
    ) {
        self.retry = retry
        self.failure = failure
        self.timeout = timeout
        self.concurrency = concurrency
        self.rate = rate
        self.gates = gates
        self.crashLimit = crashLimit
        self.releaseDelay = releaseDelay
        self.replaces = replaces
    }

    func validate() throws(SluiceError) {
        for gate in gates { try gate.validate() }
        try rate?.validate()
        if let fault = retry.fault { throw SluiceError(.invalidOptions, fault) }
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
            let message = "a route's releaseDelay is below a second: the head could spin"
            throw SluiceError(.invalidOptions, message)
        }
    }
}
