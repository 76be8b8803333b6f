/// Time that the system adds when the application leaves the foreground: some seconds, at once.
///
/// On Apple's systems it is a background task assertion (`BackgroundTaskAssertion`). An implementation of
/// your own asks something else that keeps the process awake. One is asked for at a time.
public protocol BackgroundExtension: Sendable {
    /// Asks for the time.
    ///
    /// - Parameter expired: To be called, once and from any thread, shortly before the time is over; never
    ///   after ``end()``.
    /// - Returns: Whether the system gives it.
    func begin(expired: @escaping @Sendable () -> Void) -> Bool

    /// Gives back what is left of the time.
    ///
    /// Also called when it has expired: then the process is ready to be suspended. It may be called on any
    /// thread, and more than once.
    func end()
}

/// The system adds no time, as on servers.
public struct NoBackgroundExtension: BackgroundExtension {
    /// Makes one.
    public init() {}

    /// Refuses.
    public func begin(expired: @escaping @Sendable () -> Void) -> Bool { false }

    /// Does nothing.
    public func end() {}
}
