/// Fires once at a time, which may be changed; it ends when it is released.
package protocol WorkTimer: AnyObject, Sendable {
    /// Sets the time by ``WorkPlace/now``, in place of the one that was set; `nil` for never.
    func set(_ time: Duration?)
}
