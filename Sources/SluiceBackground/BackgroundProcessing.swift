/// Time that the system grants later, on request, when it chooses.
///
/// On Apple's systems it is a processing task (`ProcessingTask`). Another example is the tool's `drain`, a
/// process that a timer starts and a deadline ends.
public protocol BackgroundProcessing: Sendable {
    /// Sets the callbacks; called once, when the coordinator is made.
    ///
    /// If the time has already begun, such as in a process that the system started for it, call `began` at
    /// once.
    ///
    /// - Parameters:
    ///   - began: Call it, from any thread, when the time begins.
    ///   - expired: Call it, from any thread, shortly before the time is over; never after ``end(isDone:)``.
    func connect(began: @escaping @Sendable () -> Void, expired: @escaping @Sendable () -> Void)

    /// Requests time after a delay at the earliest, and replaces an earlier request.
    ///
    /// - Throws: The system's error; then there is no request.
    func request(after delay: Duration) throws

    /// Cancels the request, if there is one.
    func cancelRequest()

    /// How long the current time will last; `nil` if unknown, as on Apple's systems.
    ///
    /// Actions due after its end are not waited for. The property is read about once a second while the time
    /// is used, from any thread. Default: `nil`.
    var timeLeft: Duration? { get }

    /// Gives back the remaining time.
    ///
    /// It may be called on any thread.
    ///
    /// - Parameter isDone: Whether all work that was possible is done.
    func end(isDone: Bool)
}

extension BackgroundProcessing {
    /// Unknown.
    public var timeLeft: Duration? { nil }
}
