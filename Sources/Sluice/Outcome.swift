/// What a handler says about its attempt.
///
/// Throwing an error instead is a ``retry`` with that error.
public struct Outcome: Sendable, Hashable {
    enum Storage: Sendable, Hashable {
        case success
        /// `nil`: as long as the route's retry policy says.
        case retry(after: Duration?)
        case fail(reason: String)
        case release
    }

    let storage: Storage

    /// The action is done: it is removed, and the next of its queue can start.
    public static let success = Outcome(storage: .success)

    /// Try again, when and whether the route's retry policy says.
    public static let retry = Outcome(storage: .retry(after: nil))

    /// Try again after a duration; nothing of the queue runs before.
    ///
    /// The route's limit of attempts still counts.
    ///
    /// - Parameter delay: Zero or less is at once; more than 100 years is 100 years.
    public static func retry(after delay: Duration) -> Outcome { Outcome(storage: .retry(after: delay)) }

    /// The action can never succeed: the route's failure policy for ``FailureCause/failed`` decides.
    ///
    /// - Parameter reason: Shown to operators, at most ``SluiceError/maximumTextByteCount`` bytes are kept.
    ///   It should not repeat the payload.
    public static func fail(_ reason: String) -> Outcome { Outcome(storage: .fail(reason: reason)) }

    /// Give the action back without spending the attempt.
    ///
    /// So that it cannot spin, the head then waits for ``Broker/retryNow(_:)``, a restart, or
    /// ``RouteOptions/releaseDelay``, whichever comes first.
    public static let release = Outcome(storage: .release)
}
