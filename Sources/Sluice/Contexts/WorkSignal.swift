/// Wakes a thread that waits; a signal that was sent before is not lost.
package protocol WorkSignal: AnyObject, Sendable {
    func send()
    func wait()
    /// Returns whether the signal came within a time.
    func wait(atMost time: Duration) -> Bool
}
