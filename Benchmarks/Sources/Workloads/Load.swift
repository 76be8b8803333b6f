internal import Sluice

/// What is done to a broker, and how long it took.
struct Load {
    let broker: Broker
    /// Used in turn.
    let messages: [Message]
    let count: Int
    let names: [QueueName]
    /// The place in `names` of each action's queue; `nil`: they go into the queues in turn.
    private let places: [Int]?

    /// - Parameter isShuffled: Whether they go into the queues in a random order, the same number into each.
    init(
        broker: Broker,
        messages: [Message],
        count: Int,
        queues: Int,
        prefix: String = "conversation",
        isShuffled: Bool = false
    ) {
        self.broker = broker
        self.messages = messages
        self.count = count
        names = (0..<queues).map { "\(prefix)/\($0)" }
        places = isShuffled ? (0..<count).map { $0 % queues }.shuffled() : nil
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
        message.queue = names[places?[index] ?? index % names.count]
        return message
    }

    /// What a drain has done.
    struct Drain {
        let elapsed: Duration
        /// Actions that had succeeded by then.
        let count: Int
        /// Whether nothing was left, or else the time was over.
        let isWhole: Bool
    }

    /// Runs the broker until nothing is left, or the time is over.
    @concurrent
    func drain(limit: Duration? = nil) async throws -> Drain {
        try broker.route("conversation/*", Message.self) { _, _ in .success }
        let start = ContinuousClock.now
        async let running: Void = broker.run()
        let isWhole = await isIdle(within: limit)
        let (elapsed, soFar) = (ContinuousClock.now - start, broker.statistics.succeeded)
        await broker.stop()
        try await running
        // The last ones are counted when they have been told of their commit, which may be behind idleness.
        let count = isWhole ? broker.statistics.succeeded : soFar
        return Drain(elapsed: elapsed, count: count, isWhole: isWhole)
    }

    /// Waits until nothing is left; `false` when the time was over first.
    private func isIdle(within limit: Duration?) async -> Bool {
        guard let limit else {
            await broker.waitUntilIdle()
            return true
        }
        return await withTaskGroup { group in
            group.addTask {
                await broker.waitUntilIdle()
                return true
            }
            group.addTask {
                // It ends early only when it is cancelled, and then the other has answered.
                try? await Task.sleep(for: limit)
                return false
            }
            let isIdle = await group.next() ?? false
            group.cancelAll()
            return isIdle
        }
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
        let parked = try await broker.statuses(matching: "blocked/*", in: [.parked]).count
        guard parked == names.count else { throw WrongResult(description: "\(parked) queues are parked") }
    }

    /// Throws unless all was stored, and as much has run as was to; a drain that stopped ran on for a moment.
    func check(_ drain: Drain?) async throws {
        let next = try await broker.enqueue(message(0)).id
        let succeeded = broker.statistics.succeeded
        let hasRun =
            switch drain {
            case nil: succeeded == 0
            case let drain? where drain.isWhole: succeeded == count
            case let drain?: (drain.count...count).contains(succeeded)
            }
        guard next.rawValue == Int64(count) + 1, hasRun else {
            throw WrongResult(description: "\(next.rawValue - 1) stored, \(succeeded) run, of \(count)")
        }
    }
}

/// The workload did not do what was measured.
struct WrongResult: Error, CustomStringConvertible {
    let description: String
}
