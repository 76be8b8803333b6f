/// Reports the next write to a file, once each time it is set.
package protocol WorkWatch: AnyObject, Sendable {
    /// Sets the watch; returns whether it is set.
    func arm() -> Bool
    /// Ends the watch; calls `ended`, on some thread, when it keeps nothing open any more.
    func end(_ ended: @escaping @Sendable () -> Void)
}
