/// The part of an engine that an ``AttemptRunner`` gets attempts from and reports their ends to.
package protocol AttemptSource: AnyObject, Sendable {
    /// Writes the end of an attempt, and claims and returns the next action, with the permit that it frees.
    ///
    /// It is tried until it is written, whether the caller's task is cancelled or not; `giveUp` ends that. If
    /// the application's code in the transaction fails, the settlement of `whenWorkFails` is written instead.
    /// `written` gets it and its result, or `nil` after giving up, before the broker is idle or stopped.
    func settle(
        _ action: ClaimedAction,
        _ settlement: Settlement,
        giveUp: @Sendable () -> Bool,
        whenWorkFails: (any Error) -> Settlement,
        written: (Settlement, SettleResult?) -> Void
    ) async -> (ClaimedAction, Route)?

    func attempt(for action: ClaimedAction) -> Attempt
    /// Returns the next route for an action that others have passed on, and starts that route's timeout.
    func route(for action: ClaimedAction, after tried: Set<RouteID>) -> Route?
    /// Looks again at actions that could not be decoded: a route or an upgrader was added.
    func retryUndecodable()
}
