internal import ArgumentParser
internal import Sluice

/// One point of a curve: rates, latency and memory at a size.
struct Point: AsyncParsableCommand {
    @OptionGroup var source: Source
    @Option(help: "Actions for the rates.") var count: Int
    @Option(help: "Queues that they go into, in turn.") var queues = 1_000
    @Option(help: "Actions in one call of enqueue.") var batch = 1_000
    @Option(help: "Milliseconds that each handler waits, as for the answer of a server.") var pause = 0
    @Option(help: "How many handlers run at the same time at most.") var concurrency: Int?
    @Option(help: "Actions for the latency, which follow one by one.") var probes = 1_000
    @Option(help: "Of these in a second.") var rate = 500
    @Flag(help: "Hold what the file has, so that it only waits.") var hold = false

    private struct Answer: Encodable {
        /// Seconds for all.
        let enqueue: Double
        let drain: Double
        /// Bytes of the process while all wait, and when all have run.
        let waitingMemory: Int
        let memory: Int
        /// In microseconds: how long enqueue takes, and from its call to the handler's start.
        let enqueueP50: Double
        let enqueueP99: Double
        let startP50: Double
        let startP99: Double
    }

    private struct Probe {
        let id: ActionID
        let called: Int64
        let returned: Int64
    }

    func validate() throws {
        guard min(count, queues, batch, probes, rate) >= 1 else {
            throw ValidationError("give numbers of 1 or more")
        }
    }

    func run() async throws {
        var options = BrokerOptions()
        if let concurrency { options.concurrency = concurrency }
        let broker = try await Broker(file: source.file, options: options)
        let load = Load(
            broker: broker,
            messages: try source.messages(),
            count: count,
            queues: queues,
            prefix: "point"
        )
        if hold { try await broker.hold("conversation/*", by: "benchmark", reason: "it only waits") }
        let enqueue = try await load.enqueue(batch: batch, callers: 1)
        let waitingMemory = try OwnProcess.residentMemory()
        let starts = StartTimes()
        let pause = Duration.milliseconds(pause)
        try broker.route("point/*", Message.self) { _, attempt in
            starts.note(attempt.id)
            if pause > .zero { try await Task.sleep(for: pause) }
            return .success
        }
        let begin = ContinuousClock.now
        async let running: Void = broker.run()
        await broker.waitUntilIdle()
        let drain = ContinuousClock.now - begin
        let memory = try OwnProcess.residentMemory()
        starts.begin()
        let sent = try await send(load)
        await broker.waitUntilIdle()
        await broker.stop()
        try await running
        if hold { try await broker.endHolds(matching: "conversation/*") }
        guard broker.statistics.succeeded == count + probes else {
            throw WrongResult(description: "\(broker.statistics.succeeded) run, of \(count + probes)")
        }
        await broker.close()
        let enqueueTimes = sent.map { Double($0.returned - $0.called) / 1e3 }.sorted()
        let startTimes = sent.map { Double(starts[$0.id] - $0.called) / 1e3 }.sorted()
        try Workloads.answer(
            Answer(
                enqueue: enqueue / .seconds(1),
                drain: drain / .seconds(1),
                waitingMemory: waitingMemory,
                memory: memory,
                enqueueP50: enqueueTimes[probes / 2],
                enqueueP99: enqueueTimes[probes * 99 / 100],
                startP50: startTimes[probes / 2],
                startP99: startTimes[probes * 99 / 100]
            )
        )
    }

    /// Enqueues one action after the other at a rate, each in a task of its own, whatever the handlers do.
    @concurrent
    private func send(_ load: Load) async throws -> [Probe] {
        let begin = ContinuousClock.now
        return try await withThrowingTaskGroup { group in
            for number in 0..<probes {
                group.addTask {
                    try await Task.sleep(until: begin + .seconds(1) / rate * number, clock: .continuous)
                    // Neighbours in the file are not neighbours in time.
                    let message = load.message(number * 7_919)
                    let called = OwnProcess.now
                    let id = try await load.broker.enqueue(message).id
                    return Probe(id: id, called: called, returned: OwnProcess.now)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
