import SluiceTestKit
import Synchronization
import TestSupport

@testable import Sluice

/// How many handlers are inside, by queue: a look at it when the engine has nothing left to do shows what
/// it has started.
final class HandlersInside: Sendable {
    private struct State {
        var inside: [QueueName: Int] = [:]
        var most: [QueueName: Int] = [:]
    }

    private let state = Mutex(State())

    /// A handler has begun.
    func enter(_ queue: QueueName) {
        state.withLock { state in
            state.inside[queue, default: 0] += 1
            state.most[queue] = max(state.most[queue] ?? 0, state.inside[queue] ?? 0)
        }
    }

    /// A handler is about to return, or has been completed.
    func leave(_ queue: QueueName) { state.withLock { $0.inside[queue, default: 0] -= 1 } }

    /// How many are inside, over all queues.
    var count: Int { state.withLock { $0.inside.values.reduce(0, +) } }

    /// The most that were inside at a time, of the queue with most.
    var most: Int { state.withLock { $0.most.values.max() ?? 0 } }

    /// Returns when brokers have started all that they would while these handlers stay inside.
    func settle(_ brokers: Broker...) async throws {
        try await until {
            var permits = 0
            for broker in brokers {
                let held = broker.fileEngine.scheduler.machine.withLock { $0.permitsInUse }
                guard broker.fileEngine.isAtRest(butFor: held) else { return false }
                permits += held
            }
            return permits == count
        }
    }
}
