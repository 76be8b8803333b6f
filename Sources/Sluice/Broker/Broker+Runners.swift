internal import Logging
internal import Synchronization

extension Broker {
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
