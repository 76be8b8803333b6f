/// How much a loss of power can undo; a kill of the process undoes nothing at any level.
///
/// The levels set SQLite's `synchronous` for each commit.
public struct Durability: Sendable, Hashable {
    enum Level: Sendable { case everything, standard, relaxed }

    let level: Level
    /// Syncs every commit: loss of power undoes nothing that was reported, and no settled action runs again.
    public static let everything = Durability(level: .everything)
    /// Syncs enqueued actions, dead letters and parking.
    ///
    /// An attempt's settling is synced within a second; if that is lost, the action runs again (G5).
    public static let standard = Durability(level: .standard)
    /// Syncs no commit: loss of power undoes the last second, and settled actions run again.
    public static let relaxed = Durability(level: .relaxed)

    func syncs(_ need: SyncNeed) -> Bool {
        switch need {
        case .forced: true
        case .owed: level != .relaxed
        case .later: level == .everything
        }
    }
}
