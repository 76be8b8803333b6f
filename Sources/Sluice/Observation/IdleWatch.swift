internal import Synchronization

/// The queues that a caller of ``Broker/waitUntilIdle(_:)`` waits for.
final class IdleWatch: Sendable {
    private struct State {
        /// The queues with work that have not come to rest since the file was read; `nil` while it is read.
        var busy: Set<QueueID>? = []
        /// Queues that have come to rest while the file was read; `isStale` if that may be all.
        var rested: Set<QueueID> = []
        var isStale = false
        /// Whether another process runs some of them, whose ends show as its commits only.
        var areSomeElsewhere = true
    }

    private let state = Mutex(State())

    /// Whether the file is to be read.
    var isOver: Bool { state.withLock { $0.busy?.isEmpty ?? false } }

    func beginReading() { state.withLock { $0 = State(busy: nil) } }

    func endReading(_ busy: Set<QueueID>, areSomeElsewhere: Bool) {
        state.withLock { state in
            let left = state.isStale ? [] : busy.subtracting(state.rested)
            state = State(busy: left, areSomeElsewhere: areSomeElsewhere)
        }
    }

    /// Records commits of other processes; returns whether the file is to be read for them.
    func othersCommitted() -> Bool { state.withLock { $0.areSomeElsewhere } && rested(nil) }

    /// Records that a queue, or with `nil` all, may have nothing left; returns whether that was the last.
    func rested(_ queue: QueueID?) -> Bool {
        state.withLock { state in
            guard var busy = state.busy else {
                if let queue { state.rested.insert(queue) } else { state.isStale = true }
                return false
            }
            if let queue { busy.remove(queue) } else { busy = [] }
            state.busy = busy
            return busy.isEmpty
        }
    }
}
