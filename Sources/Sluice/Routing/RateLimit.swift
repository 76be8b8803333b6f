/// How many actions of a route may start in a time, in all processes of the file together.
///
/// ```swift
/// // 100 a minute: one each 600 ms, or up to 20 at once after a pause.
/// let options = RouteOptions(rate: RateLimit(100, per: .seconds(60), burst: 20, name: "server"))
/// ```
///
/// The starts are spaced evenly (GCRA, also known as a leaky bucket). Each start of an attempt counts, also a
/// retry, and one that is tried alone after a crash, which is not delayed. A queue whose head must wait keeps
/// no permit and no task, and other routes are not delayed. Queues start in the order in which they came to
/// the limit. The status says when the next may: ``PermitScope/rate(_:until:)``.
public struct RateLimit: Sendable, Hashable {
    /// The largest ``burst``, so that times computed with it remain in range.
    public static let maximumBurst = 1_000_000

    /// How many start in ``per``; at least 1.
    public var starts: Int
    /// The time in which ``starts`` start, at most 100 years.
    public var per: Duration
    /// How many start at once after a pause; at least 1 and at most ``maximumBurst``.
    public var burst: Int
    /// The limit's name, of 1 to 255 bytes; `nil` is the route's pattern with its kinds, such as `a/* note`.
    ///
    /// Routes with the same name share the limit, also those of other processes. Give all the same numbers:
    /// a route that has others than one of the same broker is refused.
    public var name: String?

    /// Makes a limit; it is checked when it is used in a route.
    public init(_ starts: Int, per: Duration, burst: Int = 1, name: String? = nil) {
        (self.starts, self.per, self.burst, self.name) = (starts, per, burst, name)
    }

    func name(_ pattern: QueuePattern, _ kinds: [String?]) -> String {
        name ?? "\(pattern.rawValue) \(kinds.map { $0 ?? "*" }.sorted().joined(separator: ","))"
    }

    /// The time between two starts, rounded up, so that no more than ``starts`` start in ``per``.
    var interval: Duration { .microseconds((max(per.wholeMicroseconds, 1) - 1) / Int64(starts) + 1) }

    func validate() throws(SluiceError) {
        guard starts >= 1, per > .zero else {
            let message = "a rate limit allows \(starts) starts per \(per); give 1 or more per positive time"
            throw SluiceError(.invalidOptions, message)
        }
        guard (1...Self.maximumBurst).contains(burst) else {
            let message = "a rate limit's burst is \(burst); give 1 to \(Self.maximumBurst)"
            throw SluiceError(.invalidOptions, message)
        }
        if let name { try SluiceError.check(name, limit: 255, .invalidOptions, "a rate limit's name") }
    }
}
