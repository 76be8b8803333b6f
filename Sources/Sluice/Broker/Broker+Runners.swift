internal import Logging
internal import Synchronization

/// Running beside other processes.
extension Broker {
    /// A commit has found out that other processes have begun or ended to run the queues, or that this one
    /// was taken for dead; called on the committing thread.
    func runnersChanged(_ changes: RunnerChanges) {
        // Their actions may run in another process by now.
        if changes.contains(.takenOff) { runner.cancelClaimed(.takenOver) }
        // The start looks around by itself.
        guard life.withLock({ $0.state == .running }) else { return }
        if changes.contains(.takenOff) {
            options.logger.warning(
                "taken for dead by another process: what ran is cancelled, and the broker begins anew"
            )
            scheduler.schedule(.renewLease, within: .zero)
        }
        if store.runners.hasOthers { scheduler.schedule(.watchRunners, within: options.leases.watch) }
        guard changes.contains(.look) else { return }
        life.withLock { _ = $0.look.need() }
        scheduler.schedule(.lookAround, within: .zero)
    }

    /// Sets the chores that keep the right to run the queues, and see to the others.
    func beginBesideOthers() {
        // Taken for dead already, it begins anew at once.
        scheduler.schedule(
            .renewLease,
            after: store.runners.epoch == nil ? .zero : options.leases.renewal
        )
        if store.runners.hasOthers { scheduler.schedule(.watchRunners, after: options.leases.watch) }
    }

    /// Takes those off that have died, and asks again for queues that others had taken.
    func watchRunners() {
        // The last look is for what was taken while there were others.
        scheduler.askAgain(all: !store.runners.hasOthers)
        guard store.runners.hasOthers else { return }
        attempt(.watchRunners, again: options.leases.watch) { try await $0.takeOffDead() }
    }

    /// No action is claimed here from now on: what is ready is for the others, though handlers still run.
    func leaveQueuesToOthers() async {
        guard store.runners.hasOthers else { return }
        do {
            try await store.askOthersToLook()
        } catch {
            // They look around when this one has stopped, or its lease is over.
            options.logger.debug("others were not told of the stop", metadata: ["error": "\(error)"])
        }
    }
}
