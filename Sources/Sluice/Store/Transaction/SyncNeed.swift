/// Whether a write must survive a loss of power when its caller resumes.
enum SyncNeed: Sendable {
    /// No: losing the write only means that an action runs again, and a later sync makes it durable.
    case later
    /// Yes, unless the broker's durability says otherwise.
    case owed
    /// Yes, at any durability.
    case forced
}
