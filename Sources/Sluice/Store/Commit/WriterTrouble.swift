internal import Synchronization

/// What the writer meets at the file, for others to read.
final class WriterTrouble: Sendable {
    private struct State {
        var lockedSince: Timestamp?
        var isWaiting = false
        var pinnedPages = 0
        /// Whether the last requested truncation has left the WAL empty.
        var isWALTruncated = false
    }

    private let state = Mutex(State())
    /// Whether a group has met the lock; read for each group, and usually `false`.
    private let isLocked = Atomic(false)
    private let checkpointIsAsked = Atomic(false)
    private let erasureIsAsked = Atomic(false)
    var lockedSince: Timestamp? { state.withLock { $0.lockedSince } }
    var isWaiting: Bool { state.withLock { $0.isWaiting } }
    var pinnedPages: Int { state.withLock { $0.pinnedPages } }
    var isWALTruncated: Bool { state.withLock { $0.isWALTruncated } }
    var isCheckpointAsked: Bool { checkpointIsAsked.load(ordering: .acquiring) }
    var isTruncationAsked: Bool { erasureIsAsked.load(ordering: .acquiring) }

    /// Records that a group waits for the write lock of another connection.
    func waits(since time: Timestamp) {
        state.withLock { state in
            if state.lockedSince == nil { state.lockedSince = time }
            state.isWaiting = true
        }
        isLocked.store(true, ordering: .relaxed)
    }

    func gaveUp() { state.withLock { $0.isWaiting = false } }

    func hasLock() {
        guard isLocked.load(ordering: .relaxed) else { return }
        isLocked.store(false, ordering: .relaxed)
        state.withLock { ($0.lockedSince, $0.isWaiting) = (nil, false) }
    }

    /// Records how many pages of the WAL a checkpoint has not copied.
    func pinned(_ pages: Int) { state.withLock { $0.pinnedPages = pages } }
    /// Requests that the next upkeep copies the WAL, however short it is.
    func askForCheckpoint() { checkpointIsAsked.store(true, ordering: .releasing) }
    func startCheckpoint() { checkpointIsAsked.store(false, ordering: .relaxed) }

    /// Requests that the next upkeep truncates the WAL.
    func askForTruncation() { erasureIsAsked.store(true, ordering: .releasing) }

    /// The same, for somebody who asks afterwards whether it has succeeded.
    func askForErasure() {
        state.withLock { $0.isWALTruncated = false }
        askForTruncation()
    }

    func erased(_ isErased: Bool) {
        state.withLock { $0.isWALTruncated = isErased }
        erasureIsAsked.store(false, ordering: .relaxed)
    }
}
