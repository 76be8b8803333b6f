/// Whether a write is to survive a loss of power when its caller is told.
enum SyncNeed: Sendable {
    /// Losing it only means that an action runs again; a later sync will do.
    case later
    /// The caller is owed that, unless the broker's durability says otherwise.
    case owed
    /// At any durability.
    case forced
}
