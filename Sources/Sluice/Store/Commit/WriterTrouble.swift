internal import SluiceSQLite
internal import Synchronization

/// What the writer meets at the file, for others to read.
final class WriterTrouble: Sendable {
    private struct State {
        var lockedSince: Timestamp?
        var isWaiting = false
        var pinnedPages = 0
        /// Whether the last erasure that was asked for has left the log empty.
        var isWALTruncated = false
    }

    private let state = Mutex(State())
    /// Whether a group has met the lock: read for each group, which mostly has not.
    private let isLocked = Atomic(false)
    private let checkpointIsAsked = Atomic(false)
    private let erasureIsAsked = Atomic(false)

    /// The write lock is another connection's, and a group waits for it.
    func waits(since time: Timestamp) {
        state.withLock { state in
            if state.lockedSince == nil { state.lockedSince = time }
            state.isWaiting = true
        }
        isLocked.store(true, ordering: .relaxed)
    }

    /// The group has waited for as long as it was to; whoever has the lock has it still.
    func gaveUp() { state.withLock { $0.isWaiting = false } }

    /// The writer has the lock.
    func hasLock() {
        guard isLocked.load(ordering: .relaxed) else { return }
        isLocked.store(false, ordering: .relaxed)
        state.withLock { state in
            state.lockedSince = nil
            state.isWaiting = false
        }
    }

    /// A checkpoint has left pages of the log where they were.
    func pinned(_ pages: Int) { state.withLock { $0.pinnedPages = pages } }

    /// What was asked for is being done.
    func startCheckpoint() { checkpointIsAsked.store(false, ordering: .relaxed) }

    /// The next upkeep is to copy the log, however short it is.
    func askForCheckpoint() { checkpointIsAsked.store(true, ordering: .releasing) }

    /// The next upkeep is to cut the log to nothing.
    func askForErasure() {
        state.withLock { $0.isWALTruncated = false }
        erasureIsAsked.store(true, ordering: .releasing)
    }

    /// What was asked for has been tried.
    func erased(_ isErased: Bool) {
        state.withLock { $0.isWALTruncated = isErased }
        erasureIsAsked.store(false, ordering: .relaxed)
    }

    var isTruncationAsked: Bool { erasureIsAsked.load(ordering: .acquiring) }
    var isWALTruncated: Bool { state.withLock { $0.isWALTruncated } }

    /// Since when the lock has been in the way, as far as writes have met it.
    var lockedSince: Timestamp? { state.withLock { $0.lockedSince } }
    /// Whether a group waits for the lock now.
    var isWaiting: Bool { state.withLock { $0.isWaiting } }
    var pinnedPages: Int { state.withLock { $0.pinnedPages } }
    var isCheckpointAsked: Bool { checkpointIsAsked.load(ordering: .acquiring) }
}
