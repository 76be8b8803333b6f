internal import Logging
internal import Synchronization

extension FileEngine {
    /// Polls for commits of other connections at once, without waiting for the result.
    package func lookForCommits() {
        guard hasFile, isRunning || isWatched else { return }
        scheduler.schedule(.lookForChanges, within: .zero)
    }

    var isWatched: Bool { store.waiters.areThere || store.interest.isAny }

    /// Polls for commits of others while this broker does not run, as long as it is watched.
    func lookAtOthers() {
        guard hasFile, !isRunning, isWatched else { return }
        scheduler.schedule(.lookForChanges, within: options.file.foreignChangeInterval)
    }

    func lookForChanges() {
        let interval = options.file.foreignChangeInterval
        guard isRunning else {
            // This broker does not run, and nothing notifies it: commits of others show in the file only.
            attempt(.lookForChanges, again: interval) { [observers, options] store in
                let found = try await store.hasNewCommits()
                let areNew = found ?? true
                // A reader has made no commits of its own.
                if areNew && store.isReadOnly { store.interest.noteCommitOfOthers() }
                if areNew, store.waiters.areThere || store.interest.contents != nil && !store.isReadOnly {
                    try await store.readForeignChanges()
                }
                observers.tellCommitOfOthers(mayDiffer: found, at: options.clock.uptime, every: interval)
            }
            return
        }
        guard let wakeUps else { return }
        if store.isWALPinned { scheduler.schedule(.checkpointWAL, within: Store.pinnedWALInterval) }
        let next = wakeUps.isWatching ? max(interval, WakeUps.safetyInterval) : interval
        attempt(.lookForChanges, again: next) { [observers, options] store in
            try store.check.look()
            var isNew = try await wakeUps.poll()
            if store.interest.asksForOthers, try await store.hasNewCommits() ?? true { isNew = true }
            if isNew { try await store.readForeignChanges() }
            observers.tellCommitOfOthers(at: options.clock.uptime, every: next)
        }
    }

    /// How many queues are read at a time.
    static let queuePage = 1_000

    func pollOthers() async throws(SluiceError) {
        let look = life.withLock { $0.look.need() }
        scheduler.suspected(try await store.suspects())
        var page: WorkPage? = .newest(thenLimit: Self.queuePage)
        while let part = page, isRunning {
            let (queues, next) = try await store.queuesWithWork(part)
            page = next
            scheduler.wake(queues)
        }
        life.withLock { $0.look.end(look) }
        options.restWaiters?.changed()
        observers.poke(nil)
        rests()
    }

    func lookAroundAgain() {
        scheduler.schedule(.admitScheduled, within: .zero)
        attempt(.pollOthers, again: nil) { [weak self] _ in
            try await self?.pollOthers()
            self?.scheduler.askAgain(all: true)
        }
    }

    /// Notices that others started, stopped or took this process for dead; called on the committing thread.
    func runnersChanged(_ changes: RunnerChanges) {
        // Another process may already run their actions.
        if changes.contains(.takenOff) { runner.cancelClaimed(.takenOver) }
        // The start scans all queues anyway.
        guard life.withLock({ $0.state == .running }) else { return }
        if changes.contains(.takenOff) {
            options.logger.warning(
                "taken for dead by another process: attempts are cancelled, and the broker starts again"
            )
            scheduler.schedule(.renewLease, within: .zero)
        }
        if store.runners.hasOthers { scheduler.schedule(.watchRunners, within: options.file.leases.watch) }
        guard changes.contains(.look) else { return }
        life.withLock { _ = $0.look.need() }
        scheduler.schedule(.pollOthers, within: .zero)
    }

    /// Removes dead processes, and asks again for queues that other processes had claimed.
    func watchRunners() {
        // When the last other process is gone, check the queues that were refused because of others.
        scheduler.askAgain(all: !store.runners.hasOthers)
        guard store.runners.hasOthers else { return }
        attempt(.watchRunners, again: options.file.leases.watch) { try await $0.takeOffDead() }
    }

    /// Asks other processes to run the ready queues, though handlers may still run here.
    func leaveQueuesToOthers() async {
        guard store.runners.hasOthers else { return }
        do {
            try await store.askOthersToLook()
        } catch {
            // They scan the queues when this process has stopped, or when its lease ends.
            options.logger.debug("others were not notified of the stop", metadata: ["error": "\(error)"])
        }
    }
}
