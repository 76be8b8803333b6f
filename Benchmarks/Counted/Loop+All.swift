internal import Dispatch
internal import Sluice
internal import Synchronization

extension Loop {
    static let all = [
        Loop(name: "encode", run: encode),
        Loop(name: "decode", run: decode),
        Loop(name: "schedule", run: schedule),
        Loop(name: "enqueue-in-memory") { count, _ in
            try enqueue(count) { try await Broker(inMemory: relaxed) }
        },
        Loop(name: "enqueue-in-file") { count, file in
            try enqueue(count) { try await Broker(file: file, options: relaxed) }
        },
        Loop(name: "enqueue-batches") { count, file in try enqueueBatches(count, file, queues: 1) },
        Loop(name: "enqueue-batches-in-many-queues") { count, file in
            try enqueueBatches(count, file, queues: 1_000)
        },
        Loop(name: "drain-one-queue") { count, file in try drain(count, file, queues: 1) },
        Loop(name: "drain-many-queues") { count, file in try drain(count, file, queues: 50) },
        // Each is as much work as hundreds of the others.
        Loop(name: "open", counts: (few: 10, many: 30), run: open),
    ]

    /// Without syncs, which take time and no instructions, and at a time that is always the same.
    private static var relaxed: BrokerOptions {
        var options = BrokerOptions()
        options.file.durability = .relaxed
        options.clock = StoppedClock()
        return options
    }

    /// Actions in one transaction where they come in batches.
    private static let batch = 100
}

// MARK: - Without a file

extension Loop {
    private static func encode(_ count: Int, _ file: String) throws {
        let coder = PayloadCoder(maximumByteCount: .max)
        try countedTurns {
            for _ in 0..<count { _ = try coder.encode(Message.sample) }
        }
    }

    private static func decode(_ count: Int, _ file: String) throws {
        let coder = PayloadCoder(maximumByteCount: .max)
        let payload = try coder.encode(Message.sample)
        try countedTurns {
            for _ in 0..<count { _ = try coder.decode(Message.self, from: payload).get() }
        }
    }

    /// The scheduler's decisions for actions of several queues, one permit for each.
    private static func schedule(_ count: Int, _ file: String) {
        let queues = (1...64).map { QueueID(rawValue: Int64($0)) }
        var machine = SchedulerStateMachine(concurrency: queues.count / 2)
        var orders: [ClaimOrder] = []
        func take(_ decisions: [SchedulerDecision]) {
            for case .claim(let more) in decisions { orders += more }
        }
        machine.start()
        take(machine.wake(queues))
        countedTurns {
            for number in 0..<count {
                let queue = orders.removeFirst().queue
                take(machine.started(queue, claim: Int64(number), timeOutAt: nil))
                if let next = machine.finishing(queue, claim: Int64(number)) { orders.append(next) }
                take(machine.settled(queue, claim: Int64(number)))
            }
        }
    }
}

// MARK: - The store

extension Loop {
    /// Enqueues through the public face, one at a time.
    private static func enqueue(
        _ count: Int,
        opening open: @escaping @Sendable () async throws -> Broker
    ) throws {
        let broker = try wait { try await open() }
        try countedTurns {
            for _ in 0..<count { try broker.enqueueBlocking(Message.sample) }
        }
        try wait { await broker.close() }
    }

    private static func enqueueBatches(_ count: Int, _ file: String, queues: Int) throws {
        let store = try Store(.file(file), options: relaxed) { _ in }
        let drafts = try drafts(count, queues: queues)
        try countedTurns {
            for start in stride(from: 0, to: count, by: batch) {
                _ = try store.enqueueBlocking(Array(drafts[start..<min(start + batch, count)]))
            }
        }
        try wait { await store.close() }
    }

    /// Settles the first actions of a file and claims as many; the next claim is made with the settling, as
    /// when a broker runs.
    private static func drain(_ count: Int, _ file: String, queues: Int) throws {
        let store = try Store(.file(file), options: relaxed) { _ in }
        // As many for each count, and one more for each queue, so that all claims succeed.
        let stored = try store.enqueueBlocking(drafts(most + queues, queues: queues))
        let ids = try wait {
            try await store.startRunning()
            return try await store.queuesWithWork(.newest(thenLimit: queues)).queues
        }
        guard stored.count == most + queues, ids.count == queues else { throw WrongCount() }
        let admission = Admission()
        let requests = ids.map { ClaimRequest(queue: $0, admission: admission) }
        var running = try completed { store.claim(requests, completion: $0) }
        try countedTurns {
            for turn in 0..<count {
                guard case .claimed(let action) = running[turn % queues] else { throw WrongCount() }
                let (result, next) = try completed {
                    store.settle(
                        action.receipt,
                        .success,
                        thenClaim: requests[turn % queues],
                        completion: $0
                    )
                }
                guard result == .settled, let next else { throw WrongCount() }
                running[turn % queues] = next
            }
        }
        try wait { await store.close() }
    }

    /// Opens a file that has a few actions; closing it is another thread's work, and not counted.
    private static func open(_ count: Int, _ file: String) throws {
        let first = try Store(.file(file), options: relaxed) { _ in }
        _ = try first.enqueueBlocking(drafts(100, queues: 10))
        try wait { await first.close() }
        try countedTurns {
            for _ in 0..<count {
                let store = try Store(.file(file), options: relaxed) { _ in }
                try wait { await store.close() }
            }
        }
    }

    private static func drafts(_ count: Int, queues: Int) throws -> [ActionDraft] {
        let payload = try PayloadCoder(maximumByteCount: .max).encode(Message.sample)
        let names = (0..<queues).map { QueueName("conversation/\($0)") }
        return (0..<count).map {
            ActionDraft(queue: names[$0 % queues], kind: Message.kind, sortKey: .arrival, payload: payload)
        }
    }

    private struct WrongCount: Error {}
}

// MARK: - Waiting

extension Loop {
    /// Blocks this thread until something has been done elsewhere.
    private static func wait<Output: Sendable>(
        _ body: @escaping @Sendable () async throws -> Output
    ) throws -> Output {
        try completed { (completion: @escaping @Sendable (Result<Output, any Error>) -> Void) in
            Task.detached {
                do { completion(.success(try await body())) } catch { completion(.failure(error)) }
            }
        }
    }

    /// Blocks this thread until a completion has been called, most often on this thread.
    private static func completed<Output: Sendable, Failure: Error>(
        _ start: (@escaping @Sendable (Result<Output, Failure>) -> Void) -> Void
    ) throws -> Output {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Result<Output, Failure>?>(nil)
        start { outcome in
            result.withLock { $0 = outcome }
            done.signal()
        }
        done.wait()
        guard let output = try result.withLock({ $0 })?.get() else {
            preconditionFailure("a completion was called without a result")
        }
        return output
    }
}

/// Stands still.
private struct StoppedClock: BrokerClock {
    let wallMicroseconds: Int64 = 1_700_000_000_000_000
    let uptime = Duration.seconds(1)

    func sleep(untilUptime deadline: Duration) async throws {
        try await Task.sleep(for: .seconds(3_600))
    }
}

private struct Message: Action {
    static let kind = "message"
    static let sample = Message(
        conversation: "made-up-1",
        sentAt: "2026-01-01T00:00:00.000000",
        sender: "Ada",
        text: String(repeating: "some words more, ", count: 6)
    )

    var conversation: String
    var sentAt: String
    var sender: String
    var text: String
    var queue: QueueName { "conversation" }
}
