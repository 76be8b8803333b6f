/// The delays of ``RetryPolicy/exponential(first:factor:limit:jitter:)``.
package struct Backoff: Hashable, Sendable {
    let first: Duration
    let factor: Double
    let limit: Duration
    let jitter: Double

    /// Values outside their limits are clamped.
    package init(first: Duration, factor: Double, limit: Duration, jitter: Double) {
        self.first = max(first, .zero)
        self.factor = factor >= 1 ? factor : 1
        self.limit = max(limit, self.first)
        self.jitter = jitter >= 0 ? min(jitter, 1) : 0
    }

    func delay(after attempt: Int, using generator: inout any RandomNumberGenerator) -> Duration {
        let longest = limit / .seconds(1)
        // The power may be infinite, and zero times infinity would not be a number.
        let grown =
            first == .zero || mutant("backoff") ? 0 : (first / .seconds(1)) * exponential(attempt - 1)
        let delay = grown < longest ? grown : longest
        let reduction = delay * jitter * Double.random(in: 0..<1, using: &generator)
        return .seconds(delay - reduction)
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
