import ArgumentParser
import Foundation
import Sluice

/// One workload, once.
///
/// Writes the seconds that it took; `Benchmarks/run` repeats, compares and tabulates.
@main
struct SluiceBench: AsyncParsableCommand {
    enum Workload: String, ExpressibleByArgument { case enqueue, drain }
    enum Sync: String, ExpressibleByArgument { case standard, everything }

    @Argument var file: String
    @Argument var workload: Workload
    @Argument(help: "Actions in all.") var count: Int
    @Argument(help: "Queues that they go into, round-robin.") var queues: Int
    @Argument(help: "Actions in one call of enqueue.") var batch: Int
    @Argument(help: "Tasks that enqueue at the same time.") var callers: Int
    @Argument(help: "standard, or everything: each settling synced too.") var durability: Sync
    @Argument(help: "One message a line, JSON.") var payloads: String

    func run() async throws {
        let messages = try Message.read(payloads)
        var options = BrokerOptions()
        options.durability = durability == .standard ? .standard : .everything
        let broker = try await Broker(file: file, options: options)
        // The reference has its queues before it is timed.
        try await broker.enqueue((0..<queues).map { Message(messages[0], queue: $0 + 1) })
        try broker.route("conversation/*", Message.self) { _, _ in .success }
        try await drain(broker)

        let clock = ContinuousClock()
        let elapsed: Duration
        switch workload {
        case .enqueue:
            elapsed = try await clock.measure { try await enqueue(messages, batch, callers, into: broker) }
        case .drain:
            try await enqueue(messages, 1_000, 1, into: broker)
            elapsed = try await clock.measure { try await drain(broker) }
        }
        print(elapsed / .seconds(1))
        await broker.close()
    }

    private func enqueue(
        _ messages: [Message],
        _ batch: Int,
        _ callers: Int,
        into broker: Broker
    ) async throws {
        let share = count / callers
        try await withThrowingTaskGroup { group in
            for caller in 0..<callers {
                group.addTask {
                    var next = caller * share
                    let end = next + share
                    while next < end {
                        let actions = (next..<min(next + batch, end)).map {
                            Message(messages[$0 % messages.count], queue: $0 % queues + 1)
                        }
                        if batch == 1 {
                            try await broker.enqueue(actions[0])
                        } else {
                            try await broker.enqueue(actions)
                        }
                        next += batch
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func drain(_ broker: Broker) async throws {
        async let running: Void = broker.run()
        await broker.waitUntilIdle()
        await broker.stop()
        try await running
    }
}

/// A chat message; the same fields as in the payloads of the reference.
struct Message: Action {
    static let kind = "message"
    var conversation: String
    var sentAt: String
    var sender: String
    var text: String
    var queue: QueueName { QueueName(conversation) }

    init(_ other: Message, queue: Int) {
        self = other
        conversation = "conversation/\(queue)"
    }

    static func read(_ path: String) throws -> [Message] {
        let decoder = JSONDecoder()
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            .map { try decoder.decode(Message.self, from: Data($0.utf8)) }
    }
}
