#if PostgreSQL
internal import Sluice
internal import Synchronization

/// This process as a worker, and its lease, by its own time: it counts from before a renewal was sent.
final class WorkerLease: Sendable {
    private struct State {
        var worker: Int64 = 0
        var renewed = Duration.zero
        var isLost = false
        /// The callback of the watch, and the timer of the next look.
        var watch: (lost: @Sendable () -> Void, timer: any WorkTimer)?
    }

    private let state = Mutex(State())
    private let length: Duration
    private let place: any WorkPlace
    private let queue: any WorkQueue

    init(_ length: Duration, _ place: any WorkPlace) {
        (self.length, self.place) = (length, place)
        queue = place.queue("sluice.postgres.lease", isUrgent: true)
    }

    /// Until when the server must have answered again: two thirds of the lease.
    private var limit: Duration { length * 2 / 3 }

    /// The worker's number; 0 while it is none.
    var worker: Int64 { state.withLock { $0.worker } }

    /// - Parameter sent: When the server was asked, by ``WorkPlace/now``.
    func begin(_ worker: Int64, from sent: Duration) {
        state.withLock { ($0.worker, $0.renewed, $0.isLost) = (worker, sent, false) }
    }

    func end() { state.withLock { $0.worker = 0 } }

    /// The server has answered: the lease counts from when it was asked.
    func renew(from sent: Duration) {
        state.withLock { ($0.renewed, $0.isLost) = (sent, false) }
    }

    /// Whether an answer came too late: others may have this worker's queues.
    func isTooLate(from sent: Duration) -> Bool { place.now - sent > limit }

    /// Calls back when two thirds of the lease have passed without a renewal, until the watch is ended.
    ///
    /// On a thread of its own queue: handlers may keep all those of the cooperative pool.
    func beginWatch(_ lost: @escaping @Sendable () -> Void) {
        let timer = queue.timer { [weak self] in self?.look() }
        state.withLock { $0.watch = (lost, timer) }
        timer.set(place.now)
    }

    func endWatch() { state.withLock { $0.watch = nil } }

    private func look() {
        let now = place.now
        let (watch, left, isNew) = state.withLock { state in
            let left = state.renewed + limit - now
            let isNew = state.watch != nil && state.worker != 0 && !state.isLost && left <= .zero
            if isNew { state.isLost = true }
            return (state.watch, left, isNew)
        }
        guard let watch else { return }
        if isNew, !mutant("server lease") { watch.lost() }
        // Often enough for a machine that has slept, whose time a timer may not count.
        watch.timer.set(now + (left > .zero ? min(left, length / 6) : length / 6))
    }
}
#endif
