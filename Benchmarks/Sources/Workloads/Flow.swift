internal import ArgumentParser
internal import Sluice

/// Producers and handlers at once: how many actions go through, and how long one takes at half that rate.
///
/// Each queue has a producer, which enqueues one action at a time.
struct Flow: AsyncParsableCommand {
    @OptionGroup var source: Source
    @Option(help: "Actions for the rate; half as many follow for the latency.") var count: Int
    @Option(help: "Queues, and producers.") var queues = 64

    private struct Answer: Encodable {
        let seconds: Double
        /// In microseconds, from the call of enqueue, and from its return, to the handler's start.
        let callP50: Double
        let callP99: Double
        let returnP50: Double
        let returnP99: Double
    }

    private struct Sending {
        let id: ActionID
        let called: Int64
        let returned: Int64
    }

    func validate() throws {
        guard queues >= 1, count >= 2 * queues, count % (2 * queues) == 0 else {
            throw ValidationError("the count must be a multiple of twice the queues")
        }
    }

    func run() async throws {
        let broker = try await Broker(file: source.file)
        let load = Load(broker: broker, messages: try source.messages(), count: count, queues: queues)
        let starts = Moments(count: count + count / 2)
        try broker.route("conversation/*", Message.self) { _, attempt in
            starts.note(Int(attempt.id.rawValue) - 1)
            return .success
        }
        async let running: Void = broker.run()
        let begin = OwnProcess.now
        _ = try await load.enqueue(batch: 1, callers: queues)
        await broker.waitUntilIdle()
        let seconds = Double(OwnProcess.now - begin) / 1e9
        let sendings = try await send(load, rate: Double(count) / seconds / 2)
        await broker.waitUntilIdle()
        await broker.stop()
        try await running
        guard broker.statistics.succeeded == count + count / 2 else {
            throw WrongResult(description: "\(broker.statistics.succeeded) run, of \(count + count / 2)")
        }
        await broker.close()
        try Workloads.answer(answer(seconds, sendings, starts.all))
    }

    /// Enqueues at a rate, whatever the handlers do.
    @concurrent
    private func send(_ load: Load, rate: Double) async throws -> [Sending] {
        let begin = ContinuousClock.now
        let interval = Duration.seconds(Double(queues) / rate)
        return try await withThrowingTaskGroup { group in
            for queue in 0..<queues {
                group.addTask {
                    let begin = begin + interval * queue / queues
                    return try await send(load, to: queue, begin, every: interval)
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    @concurrent
    private func send(
        _ load: Load,
        to queue: Int,
        _ begin: ContinuousClock.Instant,
        every interval: Duration
    ) async throws -> [Sending] {
        var sendings: [Sending] = []
        for turn in 0..<count / 2 / queues {
            try await Task.sleep(until: begin + interval * turn, clock: .continuous)
            let message = load.message(turn * queues + queue)
            let called = OwnProcess.now
            let id = try await load.broker.enqueue(message).id
            sendings.append(Sending(id: id, called: called, returned: OwnProcess.now))
        }
        return sendings
    }

    private func answer(_ seconds: Double, _ sendings: [Sending], _ starts: [Int64]) -> Answer {
        func sorted(from moment: KeyPath<Sending, Int64>) -> [Double] {
            // A handler may start before the caller of enqueue has got its thread back.
            sendings.map { max(0, Double(starts[Int($0.id.rawValue) - 1] - $0[keyPath: moment]) / 1e3) }
                .sorted()
        }
        let called = sorted(from: \.called)
        let returned = sorted(from: \.returned)
        return Answer(
            seconds: seconds,
            callP50: called[called.count / 2],
            callP99: called[called.count * 99 / 100],
            returnP50: returned[returned.count / 2],
            returnP99: returned[returned.count * 99 / 100]
        )
    }
}
