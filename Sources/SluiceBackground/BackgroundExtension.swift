/// Extra time when the application leaves the foreground: some seconds, at once.
///
/// On Apple's systems it is a background task assertion (`BackgroundTaskAssertion`). Implement it to keep the
/// process awake by other means. Only one extension is requested at a time.
public protocol BackgroundExtension: Sendable {
    /// Requests the time.
    ///
    /// - Parameter expired: Call it once, from any thread, shortly before the time is over; never after
    ///   ``end()``.
    /// - Returns: Whether the system grants the time.
    func begin(expired: @escaping @Sendable () -> Void) -> Bool

    /// Gives back the remaining time.
    ///
    /// It is also called after the time has expired, when the process is ready to be suspended. It may be
    /// called on any thread, and more than once.
    func end()
}
