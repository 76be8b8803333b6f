internal import Synchronization

/// Noticing what other connections and processes have committed (G11).
extension Broker {
    /// Has the broker look now for what other connections have committed, without waiting for it.
    ///
    /// It would find it by itself; this is for those who know of a commit, such as a library that has made
    /// it.
    package func lookForCommits() {
        guard wakeUps != nil || store.isReadOnly, isRunning || isWatched else { return }
        scheduler.schedule(.lookForChanges, within: .zero)
    }

    /// Whether anybody waits for the end of an action, or observes.
    var isWatched: Bool { store.waiters.areThere || store.interest.isAny }

    /// Looks for what others do while this broker does not run, as long as anybody wants to know.
    func lookAtOthers() {
        guard wakeUps != nil || store.isReadOnly, !isRunning, isWatched else { return }
        scheduler.schedule(.lookForChanges, within: options.foreignChangeInterval)
    }

    /// Takes in what other connections have committed, if they have.
    func lookForChanges() {
        let interval = options.foreignChangeInterval
        guard isRunning else {
            // Nothing is logged for it: what others do shows in the file alone.
            return attempt(.lookForChanges, again: interval) { [observers] store in
                guard try await store.hasNewCommits() else { return }
                // Who only reads has made none of them.
                if store.isReadOnly { store.interest.noteCommitOfOthers() }
                if store.waiters.areThere || store.interest.contents != nil && !store.isReadOnly {
                    try await store.takeInForeignChanges()
                }
                observers.poke(nil)
                observers.tellCommitOfOthers()
            }
        }
        guard let wakeUps else { return }
        if store.isLogPinned { scheduler.schedule(.copyLog, within: Store.pinnedLogInterval) }
        let next = wakeUps.isWatching ? max(interval, WakeUps.safetyInterval) : interval
        attempt(.lookForChanges, again: next) { [observers] store in
            try store.check.look()
            var isNew = try await wakeUps.poll()
            if store.interest.contents != nil, try await store.hasNewCommits() { isNew = true }
            if isNew { try await store.takeInForeignChanges() }
            observers.tellCommitOfOthers()
        }
    }
}

/// Finding every queue with work: at the start, and when queues may have been missed.
extension Broker {
    /// How many queues are read in one go.
    private static let queueBatch = 1_000

    /// Wakes every queue with work.
    func lookAround() async throws(SluiceError) {
        let look = life.withLock { $0.look.need() }
        scheduler.suspected(try await store.suspects())
        try await readQueuesWithWork { scheduler.wake($0) }
        life.withLock { $0.look.end(look) }
        options.restWaiters?.changed()
        observers.poke(nil)
        rests()
    }

    func lookAroundAgain() {
        scheduler.schedule(.admitScheduled, within: .zero)
        attempt(.lookAround, again: nil) { [weak self] _ in
            try await self?.lookAround()
            self?.scheduler.askAgain(all: true)
        }
    }

    private func readQueuesWithWork(_ tell: ([QueueID]) -> Void) async throws(SluiceError) {
        var page: WorkPage? = .newest(thenLimit: Self.queueBatch)
        while let part = page, isRunning {
            let (queues, next) = try await store.queuesWithWork(part)
            page = next
            tell(queues)
        }
    }
}
