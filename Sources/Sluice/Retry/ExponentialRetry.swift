/// A delay that grows with each attempt up to a limit, with jitter, without end.
///
/// After attempt *n* the delay is `min(limit, first × factor^(n − 1))`, less a random part of it of at most
/// `jitter`:
///
/// | attempt | 1 | 2 | 3 | 4 | 5 | … | 9 | 10 |
/// | --- | --- | --- | --- | --- | --- | --- | --- | --- |
/// | at most, with the defaults | 1 s | 2 s | 4 s | 8 s | 16 s | … | 256 s | 300 s |
/// | at least, with the defaults | 0.5 s | 1 s | 2 s | 4 s | 8 s | … | 128 s | 150 s |
///
/// Jitter prevents many queues that failed together from retrying together; a jitter of 1 is the "full
/// jitter" of <https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>.
public struct ExponentialRetry: RetryPolicy, Hashable {
    /// The delay after the first attempt, before jitter.
    public let first: Duration
    /// The ratio of each delay to the previous one.
    public let factor: Double
    /// The longest delay.
    public let limit: Duration
    /// The largest random part that is subtracted from a delay: 0 is none, 1 is all.
    public let jitter: Double

    /// Makes a policy; values outside their limits are clamped.
    public init(
        first: Duration = .seconds(1),
        factor: Double = 2,
        limit: Duration = .seconds(300),
        jitter: Double = 0.5
    ) {
        self.first = max(first, .zero)
        self.factor = factor >= 1 ? factor : 1
        self.limit = max(limit, self.first)
        self.jitter = jitter >= 0 ? min(jitter, 1) : 0
    }

    /// Retries after the delay of the formula.
    public func decision(
        after failure: AttemptFailure,
        using generator: inout any RandomNumberGenerator
    ) -> RetryDecision {
        let longest = limit / .seconds(1)
        // The power may be infinite, and zero times infinity would not be a number.
        let grown =
            first == .zero || mutant("backoff")
            ? 0 : (first / .seconds(1)) * exponential(failure.attempt.number - 1)
        let delay = grown < longest ? grown : longest
        let reduction = delay * jitter * Double.random(in: 0..<1, using: &generator)
        return .retry(after: .seconds(delay - reduction))
    }

    /// Returns `factor` to the power of a whole number, by squaring.
    private func exponential(_ power: Int) -> Double {
        var result = 1.0
        var base = factor
        var power = max(power, 0)
        while power > 0 {
            if power & 1 == 1 { result *= base }
            base *= base
            power >>= 1
        }
        return result
    }
}

extension RetryPolicy where Self == ExponentialRetry {
    /// A delay that grows with each attempt up to a limit, with jitter, without end.
    public static func exponential(
        first: Duration = .seconds(1),
        factor: Double = 2,
        limit: Duration = .seconds(300),
        jitter: Double = 0.5
    ) -> ExponentialRetry { ExponentialRetry(first: first, factor: factor, limit: limit, jitter: jitter) }

    /// A second, doubled with each attempt up to an hour (1, 2, 4, … 2,048, 3,600 s), without jitter and end.
    ///
    /// Queues that fail together retry together; ``exponential(first:factor:limit:jitter:)`` has jitter.
    public static func backoff(upTo limit: Duration = .seconds(3_600)) -> ExponentialRetry {
        ExponentialRetry(first: .seconds(1), factor: 2, limit: limit, jitter: 0)
    }
}
