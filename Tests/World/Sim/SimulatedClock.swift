import Sluice

/// A simulated process's clocks: the machine's uptime, and a wall clock of its own, which may jump.
struct SimulatedClock: BrokerClock {
    /// The wall clock at the world's begin: 2026-01-01, in microseconds.
    static let origin: Int64 = 1_767_225_600_000_000
    let process: SimulatedProcess

    var wallMicroseconds: Int64 {
        let time = process.world.now + process.clockOffset
        return Self.origin + Int64(time / .microseconds(1))
    }

    var uptime: Duration { process.world.now }

    func sleep(untilUptime deadline: Duration) async throws {
        let sleep = Sleep()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                sleep.begin(continuation, until: deadline, process)
            }
        } onCancel: {
            sleep.end(with: .failure(CancellationError()))
        }
    }

    // Used by the one thread of the world that runs.
    private final class Sleep: @unchecked Sendable {
        private var continuation: CheckedContinuation<Void, any Error>?
        private var entry: TimerHeap.Entry?
        private var result: Result<Void, any Error>?

        func begin(
            _ continuation: CheckedContinuation<Void, any Error>,
            until deadline: Duration,
            _ process: SimulatedProcess
        ) {
            if let result { return continuation.resume(with: result) }
            self.continuation = continuation
            let time = max(deadline, process.world.now)
            entry = process.world.at(time, process) { self.end(with: .success(())) }
        }

        func end(with result: Result<Void, any Error>) {
            entry?.cancel()
            guard self.result == nil else { return }
            self.result = result
            continuation?.resume(with: result)
            continuation = nil
        }
    }
}

extension SimulatedClock {
    func sleep(_ duration: Duration) async throws { try await sleep(untilUptime: uptime + duration) }
}
