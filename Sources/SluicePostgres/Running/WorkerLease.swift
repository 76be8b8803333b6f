#if PostgreSQL
internal import Sluice
internal import Synchronization

/// This process as a worker, and its lease, by its own clock: it counts from before a renewal was sent.
final class WorkerLease: Sendable {
    private struct State {
        var worker: Int64 = 0
        var renewed = ContinuousClock.now
        var isLost = false
    }

    private let state = Mutex(State())
    private let length: Duration

    init(_ length: Duration) { self.length = length }

    /// Until when the server must have answered again: two thirds of the lease.
    private var limit: Duration { length * 2 / 3 }

    /// The worker's number; 0 while it is none.
    var worker: Int64 { state.withLock { $0.worker } }

    func begin(_ worker: Int64, from sent: ContinuousClock.Instant) {
        state.withLock { $0 = State(worker: worker, renewed: sent) }
    }

    func end() { state.withLock { $0.worker = 0 } }

    /// The server has answered: the lease counts from when it was asked.
    func renew(from sent: ContinuousClock.Instant) {
        state.withLock { ($0.renewed, $0.isLost) = (sent, false) }
    }

    /// Whether an answer came too late: others may have this worker's queues by now.
    func isTooLate(from sent: ContinuousClock.Instant) -> Bool { sent.duration(to: .now) > limit }

    /// Calls back when two thirds of the lease have passed without a renewal, until it is cancelled.
    func watch(_ lost: @Sendable () -> Void) async {
        while !Task.isCancelled {
            let (end, isNew) = state.withLock { state in
                let end = state.renewed.advanced(by: limit)
                let isNew = state.worker != 0 && !state.isLost && end <= .now
                if isNew { state.isLost = true }
                return (end, isNew)
            }
            if isNew, !mutant("server lease") { lost() }
            // Cancelled when the run ends. A renewal is looked for well before its own time is over.
            try? await ContinuousClock().sleep(until: end > .now ? end : .now + length / 6)
        }
    }
}
#endif
