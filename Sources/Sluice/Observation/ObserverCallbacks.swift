internal import Synchronization

/// Calls an observer back on a queue or executor of the application, in a job that runs until none is left.
final class ObserverCallbacks<Buffer: ObserverBuffer>: Sendable {
    private struct State {
        var buffer: Buffer
        var isScheduled = false
        var isCancelled = false
    }

    /// The most callbacks of one job, so that others can use the executor too.
    private static var jobLimit: Int { 64 }

    private let state: Mutex<State>
    private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let body: @Sendable (Buffer.Element) -> Void

    init(
        _ buffer: Buffer,
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        body: @escaping @Sendable (Buffer.Element) -> Void
    ) {
        state = Mutex(State(buffer: buffer))
        self.schedule = schedule
        self.body = body
    }

    func receive(_ inputs: [Buffer.Input]) {
        if inputs.isEmpty { return }
        let isFirst = state.withLock { state in
            if state.isCancelled { return false }
            for input in inputs { state.buffer.add(input) }
            defer { state.isScheduled = true }
            return !state.isScheduled || mutant("callbacks in turn")
        }
        if isFirst { schedule { self.work() } }
    }

    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            state.buffer.removeAll()
        }
    }

    private func work() {
        for _ in 0..<Self.jobLimit {
            let next = state.withLock { state -> Buffer.Element? in
                let next = state.buffer.pop()
                if next == nil { state.isScheduled = false }
                return next
            }
            guard let next else { return }
            body(next)
        }
        schedule { self.work() }
    }
}
