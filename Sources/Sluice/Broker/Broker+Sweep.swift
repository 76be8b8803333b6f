extension Broker {
    func sweep() {
        attempt(.sweep, again: nil) { [weak self] store in
            guard let self else { return }
            if let next = try await store.sweep(routes.admission) { scheduleSweep(at: next) }
            scheduler.hasten(.admitScheduled)
        }
    }

    /// Schedules a sweep at a time, or earlier, as the wall clock may be set forward.
    func scheduleSweep(at time: Timestamp) {
        let delay = min(max(time - options.clock.now, .zero), Scheduler.scheduleInterval)
        if isRunning { scheduler.schedule(.sweep, within: delay) }
    }
}
