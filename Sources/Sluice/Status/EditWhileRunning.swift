/// What to do with an edit of a running action.
public enum EditWhileRunning: Sendable, Hashable {
    /// Store the edit for the next attempt; it is lost if the current attempt succeeds.
    case forNextAttempt
    /// Change nothing.
    case refuse
}
