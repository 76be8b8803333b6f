internal import Synchronization

/// Counts how often the writer has held the write lock and read the commits of others.
///
/// A write of others to the WAL before such a turn ended before it, since one connection has the lock.
final class TurnCounter: Sendable {
    private let value = Atomic(0)

    /// Adds a turn; call it with the write lock held.
    func add() { value.add(1, ordering: .acquiringAndReleasing) }
    var count: Int { value.load(ordering: .acquiring) }
}
