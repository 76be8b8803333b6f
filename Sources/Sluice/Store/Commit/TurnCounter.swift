internal import Dispatch
internal import Synchronization

/// How often the writer has had its turn: it had the write lock and had read what others had committed.
///
/// What others wrote to the log before a turn has come to its end before it: no two hold the write lock.
final class TurnCounter: Sendable {
    private let value = Atomic(0)

    /// Called with the write lock held.
    func add() { value.add(1, ordering: .acquiringAndReleasing) }

    var count: Int { value.load(ordering: .acquiring) }
}
