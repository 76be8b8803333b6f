import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Many queues and many actions at once.
///
/// `SLUICE_LOAD_QUEUES` sets how many queues there are, with ten actions each.
@Suite("Load", .watched(minutes: 30)) struct LoadTests {
    private static let queues = Reliability.number("SLUICE_LOAD_QUEUES", usually: 500, short: 200)
    private static let perQueue = 10
    private static let callers = 4

    /// What the handlers of all queues have seen.
    private struct Seen {
        var running: Set<QueueName> = []
        /// Of each queue the numbers of its actions, in the order of their successes.
        var ran: [QueueName: [Int]] = [:]
        var overlaps = 0
        var attempts = 0
    }

    @Test("G2, G3, G5, G9: actions of many queues, enqueued while they run, run once each and in their order")
    func manyQueues() async throws {
        let file = try TemporaryFile()
        let broker = try await Broker(file: file.path)
        let seen = Mutex(Seen())
        let retry = RouteOptions(retry: .fixed(.milliseconds(1)))
        try broker.route("lane/*", Note.self, retry) { note, attempt in
            let number = try #require(Int(note.text))
            seen.withLock { seen in
                seen.attempts += 1
                if !seen.running.insert(attempt.queue).inserted { seen.overlaps += 1 }
            }
            // Others take their turns while it runs.
            await Task.yield()
            let isTriedAgain = attempt.number == 1 && number == 7
            seen.withLock { seen in
                seen.running.remove(attempt.queue)
                if !isTriedAgain { seen.ran[attempt.queue, default: []].append(number) }
            }
            return isTriedAgain ? .retry : .success
        }
        try await running(broker) {
            try await withThrowingTaskGroup { group in
                for caller in 0..<Self.callers {
                    group.addTask {
                        for number in 0..<Self.perQueue {
                            for queue in stride(from: caller, to: Self.queues, by: Self.callers) {
                                try await broker.enqueue(Note("\(number)", in: "lane/\(queue)"))
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            await broker.waitUntilIdle()
        }
        let result = seen.withLock { $0 }
        #expect(result.overlaps == 0)
        #expect(result.ran.count == Self.queues)
        let expected = Array(0..<Self.perQueue)
        for (queue, numbers) in result.ran where numbers != expected {
            Issue.record("\(queue) ran \(numbers)")
        }
        #expect(result.attempts == Self.queues * (Self.perQueue + 1))
        #expect(try await broker.actionCount() == 0)
        await broker.close()
        Reliability.report("load", "\(Self.queues) queues, \(result.attempts) attempts, no overlap")
    }

    @Test("G12: with many waiting actions the places of the newest alone stand in memory")
    func memory() async throws {
        let fixture = try await StoreFixture(adjust: { $0.file.writeBehind = WriteBehindLimits() })
        let store = fixture.store
        // Memory follows the file from the first look at a queue on.
        try await store.add("x")
        #expect(try await store.drain() == ["x"])
        let (batch, limit) = (10_000, WriteBehindLimits().newest)
        var most = 0
        for number in 0..<11 {
            try await store.add(
                (0..<batch).map { ActionDraft("\(number)", in: QueueName("q/\($0 % 1_000)")) }
            )
            let count = try await store.write(sync: .later) { transaction in
                transaction.core.order.lanes.values.map(\.placeCount).reduce(0, +)
            }
            most = max(most, count)
        }
        #expect(most > limit / 2 && most <= limit + 2 * batch)
        await store.close()
        Reliability.report("places in memory", "\(most) at most, of \(11 * batch) waiting actions")
    }
}
