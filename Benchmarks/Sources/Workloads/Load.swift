internal import Sluice

/// What is done to a broker, and how long it took.
struct Load {
    let broker: Broker
    /// Used in turn.
    let messages: [Message]
    let count: Int
    let names: [QueueName]

    init(broker: Broker, messages: [Message], count: Int, queues: Int, prefix: String = "conversation") {
        self.broker = broker
        self.messages = messages
        self.count = count
        names = (0..<queues).map { "\(prefix)/\($0)" }
    }

    /// Enqueues all actions, from several tasks that each wait for their own.
    @concurrent
    func enqueue(batch: Int, callers: Int) async throws -> Duration {
        let start = ContinuousClock.now
        if callers == 1 {
            try await enqueue(0..<count, batch: batch)
        } else {
            let share = count / callers
            try await withThrowingTaskGroup { group in
                for caller in 0..<callers {
                    group.addTask { try await enqueue(caller * share..<(caller + 1) * share, batch: batch) }
                }
                try await group.waitForAll()
            }
        }
        return .now - start
    }

    @concurrent
    private func enqueue(_ range: Range<Int>, batch: Int) async throws {
        if batch == 1 {
            for index in range { try await broker.enqueue(message(index)) }
        } else {
            for start in stride(from: range.lowerBound, to: range.upperBound, by: batch) {
                try await broker.enqueue((start..<min(start + batch, range.upperBound)).map(message))
            }
        }
    }

    func message(_ index: Int) -> Message {
        var message = messages[index % messages.count]
        message.queue = names[index % names.count]
        return message
    }

    /// Runs the broker until nothing is left.
    @concurrent
    func drain() async throws -> Duration {
        try broker.route("conversation/*", Message.self) { _, _ in .success }
        let start = ContinuousClock.now
        async let running: Void = broker.run()
        await broker.waitUntilIdle()
        let elapsed = ContinuousClock.now - start
        await broker.stop()
        try await running
        return elapsed
    }

    /// Enqueues all actions and has each queue blocked by its head.
    @concurrent
    func park() async throws {
        _ = try await enqueue(batch: 1_000, callers: 1)
        try broker.route("blocked/*", Message.self) { _, _ in .fail("no such room") }
        async let running: Void = broker.run()
        await broker.waitUntilIdle()
        await broker.stop()
        try await running
        let parked = try await broker.queueSummaries("blocked/*").count { $0.state == "parked" }
        guard parked == names.count else { throw WrongResult(description: "\(parked) queues are parked") }
    }

    /// Throws unless all was stored, and all has run if it was to.
    func check(isDrained: Bool) async throws {
        let next = try await broker.enqueue(message(0))
        let succeeded = broker.statistics.succeeded
        guard next.rawValue == Int64(count) + 1, succeeded == (isDrained ? count : 0) else {
            throw WrongResult(description: "\(next.rawValue - 1) stored, \(succeeded) run, of \(count)")
        }
    }
}

/// The workload did not do what was measured.
struct WrongResult: Error, CustomStringConvertible {
    let description: String
}
