import Sluice
import SluicePostgres

/// Callers that enqueue one after the other, each a batch at a time, into queues in turn.
struct Enqueues {
    let callers: Int
    let batch: Int
    let count: Int
    let queues: Int

    /// Writes the seconds that it took.
    func run(_ url: String) async throws {
        let broker = try await Broker(postgres: url)
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<callers {
                group.addTask {
                    for first in stride(from: caller * batch, to: count, by: callers * batch) {
                        let messages = (first..<min(first + batch, count)).map { number in
                            Message(conversation: number % queues)
                        }
                        if batch == 1 {
                            try await broker.enqueue(messages[0])
                        } else {
                            try await broker.enqueue(messages)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        print(start.duration(to: .now) / .seconds(1))
        await broker.close()
    }
}
