#if PostgreSQL
internal import Dispatch
internal import Sluice
internal import Synchronization

/// This process as a worker, and its lease, by its own clock: it counts from before a renewal was sent.
final class WorkerLease: Sendable {
    private struct State {
        var worker: Int64 = 0
        var renewed = ContinuousClock.now
        var isLost = false
        /// Raised at the begin and the end of each watch.
        var watch = 0
    }

    private let state = Mutex(State())
    private let length: Duration
    private let queue = DispatchQueue(label: "sluice.postgres.lease", qos: .userInitiated)

    init(_ length: Duration) { self.length = length }

    /// Until when the server must have answered again: two thirds of the lease.
    private var limit: Duration { length * 2 / 3 }

    /// The worker's number; 0 while it is none.
    var worker: Int64 { state.withLock { $0.worker } }

    func begin(_ worker: Int64, from sent: ContinuousClock.Instant) {
        state.withLock { ($0.worker, $0.renewed, $0.isLost) = (worker, sent, false) }
    }

    func end() { state.withLock { $0.worker = 0 } }

    /// The server has answered: the lease counts from when it was asked.
    func renew(from sent: ContinuousClock.Instant) {
        state.withLock { ($0.renewed, $0.isLost) = (sent, false) }
    }

    /// Whether an answer came too late: others may have this worker's queues.
    func isTooLate(from sent: ContinuousClock.Instant) -> Bool { sent.duration(to: .now) > limit }

    /// Calls back when two thirds of the lease have passed without a renewal, until the watch is ended.
    ///
    /// On a thread of the system's: handlers may keep all those of the cooperative pool.
    func beginWatch(_ lost: @escaping @Sendable () -> Void) {
        let watch = state.withLock { state in
            state.watch += 1
            return state.watch
        }
        look(watch, lost)
    }

    func endWatch() { state.withLock { $0.watch += 1 } }

    private func look(_ watch: Int, _ lost: @escaping @Sendable () -> Void) {
        let (left, isNew) = state.withLock { state -> (Duration?, Bool) in
            guard state.watch == watch else { return (nil, false) }
            let left = ContinuousClock.now.duration(to: state.renewed.advanced(by: limit))
            let isNew = state.worker != 0 && !state.isLost && left <= .zero
            if isNew { state.isLost = true }
            return (left, isNew)
        }
        if isNew, !mutant("server lease") { lost() }
        guard let left else { return }
        // Often enough for a machine that has slept, whose time the queue does not count.
        let delay = left > .zero ? min(left, length / 6) : length / 6
        queue.asyncAfter(deadline: .now() + .microseconds(Int(delay.wholeMicroseconds))) { [weak self] in
            self?.look(watch, lost)
        }
    }
}
#endif
