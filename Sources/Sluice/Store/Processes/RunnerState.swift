internal import Synchronization

/// Shows other threads than the writer's leader whether this store and others run the queues.
final class RunnerState: Sendable {
    private let currentEpoch = Atomic<Int64>(0)
    private let otherCount = Atomic(0)

    /// The epoch under which this store runs the queues; `nil` while it does not.
    var epoch: Int64? {
        let epoch = currentEpoch.load(ordering: .acquiring)
        return epoch == 0 ? nil : epoch
    }

    /// Whether other processes run them, as far as the writer knows.
    var hasOthers: Bool { otherCount.load(ordering: .acquiring) > 0 }
    func setEpoch(_ epoch: Int64?) { currentEpoch.store(epoch ?? 0, ordering: .releasing) }
    func setOtherCount(_ count: Int) { otherCount.store(count, ordering: .releasing) }
}
