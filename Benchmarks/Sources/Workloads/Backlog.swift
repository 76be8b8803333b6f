internal import ArgumentParser
internal import Sluice

/// Adds actions to a file for other commands to find there.
struct Fill: AsyncParsableCommand {
    @OptionGroup var source: Source
    @Option(help: "Actions in all.") var count: Int
    @Option(help: "Queues that they go into.") var queues = 1
    @Flag(help: "Put them into the queues in a random order, and not in turn.") var shuffled = false
    @Flag(help: "Run them all, so that the queues stay empty, but for one that is parked.") var idle = false

    private static let batch = 1_000

    func run() async throws {
        let broker = try await Broker(file: source.file, options: Level.relaxed.options)
        let load = Load(
            broker: broker,
            messages: try source.messages(),
            count: count,
            queues: queues,
            isShuffled: shuffled
        )
        _ = try await load.enqueue(batch: Self.batch, callers: 1)
        if idle {
            let parked = Load(broker: broker, messages: load.messages, count: 1, queues: 1, prefix: "blocked")
            _ = try await load.drain()
            try await parked.park()
        }
        await broker.close()
    }
}

/// Drains the first actions of a file's one queue, and leaves the rest.
struct Backlog: AsyncParsableCommand {
    @Option(help: "A database with more actions than that.") var file: String
    @Option(help: "Actions to drain.") var count: Int
    @Option(help: "The broker's durability.") var durability = Level.standard

    private struct Answer: Encodable {
        let seconds: Double
        let settled: Int
    }

    func run() async throws {
        let broker = try await Broker(file: file, options: durability.options)
        // Each start is that of the next action: the one before it is settled.
        let starts = Starts(limit: count + 1)
        try broker.route("conversation/*", Message.self) { _, _ in
            starts.note()
            return .success
        }
        async let running: Void = broker.run()
        await starts.waitForAll()
        await broker.stop()
        try await running
        let settled = broker.statistics.succeeded
        await broker.close()
        try Workloads.answer(Answer(seconds: starts.seconds, settled: settled))
    }
}

/// Drains queues beside two that are blocked by their heads and hold much.
struct Blocked: AsyncParsableCommand {
    @OptionGroup var source: Source
    @Option(help: "Actions in each of the two blocked queues; with 0 there are no such queues.")
    var blocked: Int
    @Option(help: "Actions to drain.") var count: Int
    @Option(help: "Queues that they go into, in turn.") var queues = 1_000

    private static let batch = 1_000

    func run() async throws {
        let broker = try await Broker(file: source.file)
        let messages = try source.messages()
        if blocked > 0 {
            let stuck = Load(
                broker: broker,
                messages: messages,
                count: 2 * blocked,
                queues: 2,
                prefix: "blocked"
            )
            try await stuck.park()
        }
        let load = Load(broker: broker, messages: messages, count: count, queues: queues)
        _ = try await load.enqueue(batch: Self.batch, callers: 1)
        let drain = try await load.drain()
        let (left, succeeded) = (try await broker.actionCount(), broker.statistics.succeeded)
        guard left == 2 * blocked, succeeded == count else {
            throw WrongResult(description: "\(left) left of \(2 * blocked), \(succeeded) run of \(count)")
        }
        await broker.close()
        try Workloads.answer(["drain": drain.elapsed / .seconds(1)])
    }
}
