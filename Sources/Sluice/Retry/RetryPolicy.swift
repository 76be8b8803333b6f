/// Whether and when an action is tried again after a failed attempt.
///
/// ```swift
/// RouteOptions(retry: .exponential(limit: .seconds(60)).limited(to: 8))
/// ```
///
/// A policy of your own is a closure without state: its decision follows from the failure and the given
/// random numbers, which are the broker's.
///
/// ```swift
/// RetryPolicy { failure, _ in failure.error is SignedOut ? .halt : .retry(after: .seconds(30)) }
/// ```
public struct RetryPolicy: Sendable {
    /// The fault of the policy's values, in words; `nil` if they have none.
    let fault: String?
    private let decide: @Sendable (AttemptFailure, inout any RandomNumberGenerator) -> RetryDecision

    /// Makes a policy of a closure.
    public init(
        _ decide: @escaping @Sendable (AttemptFailure, inout any RandomNumberGenerator) -> RetryDecision
    ) { self.init(fault: nil, decide) }

    private init(
        fault: String?,
        _ decide: @escaping @Sendable (AttemptFailure, inout any RandomNumberGenerator) -> RetryDecision
    ) { (self.fault, self.decide) = (fault, decide) }

    /// Decides about a failed attempt.
    public func decision(
        after failure: AttemptFailure,
        using generator: inout any RandomNumberGenerator
    ) -> RetryDecision { decide(failure, &generator) }

    // MARK: - Policies

    /// A delay that grows with each attempt up to a limit, with jitter, without end; the default.
    ///
    /// After attempt *n* the delay is `min(limit, first × factor^(n − 1))`, less a random part of it of at
    /// most `jitter`:
    ///
    /// | attempt | 1 | 2 | 3 | 4 | 5 | … | 9 | 10 |
    /// | --- | --- | --- | --- | --- | --- | --- | --- | --- |
    /// | at most, with the defaults | 1 s | 2 s | 4 s | 8 s | 16 s | … | 256 s | 300 s |
    /// | at least, with the defaults | 0.5 s | 1 s | 2 s | 4 s | 8 s | … | 128 s | 150 s |
    ///
    /// Jitter prevents many queues that failed together from retrying together; a jitter of 1 is the "full
    /// jitter" of <https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>.
    ///
    /// - Parameters:
    ///   - first: The delay after the first attempt, before jitter.
    ///   - factor: The ratio of each delay to the previous one; at least 1.
    ///   - limit: The longest delay; at least the first.
    ///   - jitter: The largest random part that is subtracted from a delay: 0 is none, 1 is all.
    ///
    /// Values outside their limits are clamped.
    public static func exponential(
        first: Duration = .seconds(1),
        factor: Double = 2,
        limit: Duration = .seconds(300),
        jitter: Double = 0.5
    ) -> RetryPolicy {
        let backoff = Backoff(first: first, factor: factor, limit: limit, jitter: jitter)
        return RetryPolicy { failure, generator in
            .retry(after: backoff.delay(after: failure.attempt.number, using: &generator))
        }
    }

    /// A second, doubled with each attempt up to an hour (1, 2, 4, … 2,048, 3,600 s), without jitter and end.
    ///
    /// Queues that fail together retry together; ``exponential(first:factor:limit:jitter:)`` has jitter.
    public static func backoff(upTo limit: Duration = .seconds(3_600)) -> RetryPolicy {
        exponential(limit: limit, jitter: 0)
    }

    /// The same delay before each retry, without end; a negative one counts as zero.
    public static func fixed(_ delay: Duration) -> RetryPolicy {
        RetryPolicy { _, _ in .retry(after: max(delay, .zero)) }
    }

    /// A limited number of attempts, including the first, at once or with the same delay before each.
    ///
    /// Then the failure policy for ``FailureCause/exhausted`` decides, which by default parks the queue.
    public static func attempts(_ count: Int, every delay: Duration = .zero) -> RetryPolicy {
        fixed(delay).limited(to: count)
    }

    /// No retry: the queue is parked at the first failure.
    public static let halt = RetryPolicy { _, _ in .halt }

    // MARK: - Changed by a condition

    /// Returns the same policy with a limit of attempts.
    ///
    /// `.exponential().limited(to: 5)` waits after attempts 1 to 4, and gives up after attempt 5. A limit
    /// below one is refused by the route as ``SluiceError/Code/invalidOptions``.
    public func limited(to attempts: Int) -> RetryPolicy {
        let own = attempts < 1 ? "a route's limit of attempts is \(attempts); give 1 or more" : nil
        return RetryPolicy(fault: own ?? fault) { [self] failure, generator in
            let isLast = failure.attempt.number >= attempts && !mutant("attempts")
            return isLast ? .giveUp : decision(after: failure, using: &generator)
        }
    }

    /// Returns the same policy with another that decides first about actions of a type.
    ///
    /// ```swift
    /// RetryPolicy.backoff().deciding(for: SendMessage.self) { message, failure in
    ///     if failure.error is SignedOut { return .halt }              // parks the queue
    ///     if message.isGreeting && failure.attempt.number == 3 { return .giveUp }
    ///     return nil                                                  // this policy decides
    /// }
    /// ```
    ///
    /// The action is decoded again for each failure.
    public func deciding<A: Action>(
        for type: A.Type,
        _ decide: @escaping @Sendable (A, AttemptFailure) -> RetryDecision?
    ) -> RetryPolicy {
        RetryPolicy(fault: fault) { [self] failure, generator in
            failure.action(as: A.self).flatMap { decide($0, failure) }
                ?? decision(after: failure, using: &generator)
        }
    }
}
