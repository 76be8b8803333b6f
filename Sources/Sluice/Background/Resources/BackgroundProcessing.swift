/// Time that the system gives later, when it sees fit, to an application that asks for it.
///
/// On Apple's systems it is a processing task (`ProcessingTask`). The tool's `drain` is another one: a
/// process that a timer starts and a deadline ends.
public protocol BackgroundProcessing: Sendable {
    /// Says who is to be told.
    ///
    /// Called once, when the coordinator is made. What the system has given before, as to a process that it
    /// started for this, is told at once.
    ///
    /// - Parameters:
    ///   - began: To be called, from any thread, when the time begins.
    ///   - expired: To be called, from any thread, shortly before the time is over; never after
    ///     ``end(isDone:)``.
    func connect(began: @escaping @Sendable () -> Void, expired: @escaping @Sendable () -> Void)

    /// Asks for time, no earlier than after a delay; a request that stands is replaced.
    ///
    /// - Throws: What the system has against it; then no request stands.
    func request(after delay: Duration) throws

    /// Takes the request back; one that does not stand is no error.
    func cancelRequest()

    /// How long the time that has begun will last; `nil` where that is not known, as on Apple's systems.
    ///
    /// What is due behind its end is not waited for. It is asked about once a second while the time is used,
    /// from any thread. Default: `nil`.
    var timeLeft: Duration? { get }

    /// Gives back what is left of the time that has begun.
    ///
    /// It may be called on any thread.
    ///
    /// - Parameter isDone: Whether all has been done that could be.
    func end(isDone: Bool)
}

extension BackgroundProcessing {
    /// It is not known how long the time will last.
    public var timeLeft: Duration? { nil }
}
