/// The end of actions that have one: looked for when an action becomes head, and by a sweep.
extension Broker {
    /// Sets aside what has expired, and comes back when something ends next.
    func sweep() {
        attempt(.sweep, again: nil) { [weak self] store in
            guard let self else { return }
            if let next = try await store.sweep(routes.admission) { scheduleSweep(at: next) }
            scheduler.hasten(.admitScheduled)
        }
    }

    /// Sweeps at a time, and earlier if the wall clock is not to be trusted for so long.
    func scheduleSweep(at time: Timestamp) {
        let delay = min(max(time - options.clock.now, .zero), Self.scheduleInterval)
        if isRunning { scheduler.schedule(.sweep, within: delay) }
    }
}
