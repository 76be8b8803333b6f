internal import ArgumentParser
internal import Sluice

/// Spreads queues over several files, each with a broker of its own, and drains all at the same time.
struct Files: AsyncParsableCommand {
    @OptionGroup var source: Source
    @Option(help: "Files; their names are that of the first one and a number.") var files: Int
    @Option(help: "Actions in all.") var count: Int
    @Option(help: "Queues in all.") var queues = 1_000
    @Option(help: "Actions in one call of enqueue.") var batch = 1_000
    @Option(help: "How many handlers run at the same time at most, in all.") var concurrency = 64

    func validate() throws {
        guard min(files, count, queues, batch, concurrency) >= 1, count % files == 0, queues % files == 0
        else {
            throw ValidationError("the count and the queues must be multiples of the files")
        }
    }

    func run() async throws {
        let messages = try source.messages()
        var options = BrokerOptions()
        options.concurrency = max(1, concurrency / files)
        var loads: [Load] = []
        for number in 0..<files {
            let path = number == 0 ? source.file : "\(source.file).\(number)"
            let broker = try await Broker(file: path, options: options)
            loads.append(
                Load(broker: broker, messages: messages, count: count / files, queues: queues / files)
            )
        }
        let enqueue = try await Self.time(loads) { load in
            _ = try await load.enqueue(batch: batch, callers: 1)
        }
        let drain = try await Self.time(loads) { load in
            let drain = try await load.drain()
            guard drain.count == load.count else {
                throw WrongResult(description: "\(drain.count) run, of \(load.count)")
            }
        }
        for load in loads { await load.broker.close() }
        try Workloads.answer(["enqueue": enqueue, "drain": drain])
    }

    /// Seconds that something takes which is done to all at the same time.
    @concurrent
    private static func time(
        _ loads: [Load],
        _ work: @escaping @Sendable (Load) async throws -> Void
    ) async throws -> Double {
        let begin = ContinuousClock.now
        try await withThrowingTaskGroup { group in
            for load in loads { group.addTask { try await work(load) } }
            try await group.waitForAll()
        }
        return (ContinuousClock.now - begin) / .seconds(1)
    }
}
