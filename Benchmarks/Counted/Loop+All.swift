internal import Dispatch
internal import Sluice
internal import Synchronization

extension Loop {
    static let all = [
        Loop(name: "encode") { _, count, _ in try encode(count) },
        Loop(name: "decode") { _, count, _ in try decode(count) },
        Loop(name: "schedule") { _, count, _ in schedule(count) },
        Loop(name: "enqueue-in-memory") { _, count, _ in
            try enqueue(count) { try await Broker.inMemory(relaxed) }
        },
        Loop(name: "enqueue-in-file") { _, count, file in
            try enqueue(count) { try await Broker(file: file, options: relaxed) }
        },
        Loop(name: "enqueue-64-callers", few: 512, many: 1_536, scope: .process) { _, count, file in
            try enqueueGroups(count, file)
        },
        Loop(name: "enqueue-batches") { _, count, file in try enqueueBatches(count, file, queues: 1) },
        Loop(name: "enqueue-batches-in-10,000-queues") { _, count, file in
            try enqueueBatches(count, file, queues: 10_000, existing: 10_000)
        },
        Loop(name: "enqueue-batches-in-new-queues") { loop, count, file in
            try enqueueBatches(count, file, queues: loop.many)
        },
        Loop(name: "drain-one-queue") { loop, count, file in try drain(loop, count, file, queues: 1) },
        Loop(name: "drain-50-queues") { loop, count, file in try drain(loop, count, file, queues: 50) },
        Loop(name: "drain-1,000-queues-by-64", few: 512, many: 1_536, scope: .process) { loop, count, file in
            try drainGroups(loop, count, file, queues: 1_000)
        },
        Loop(name: "attempts-of-one-queue", scope: .process) { loop, count, file in
            try attempts(loop, count, file)
        },
        // Each is as much work as hundreds of the others.
        Loop(name: "open", few: 10, many: 30) { _, count, file in try open(count, file) },
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
    /// Writes in one transaction where they come from as many callers.
    private static let group = 64
}

// MARK: - Without a file

extension Loop {
    private static func encode(_ count: Int) throws {
        let coder = PayloadCoder(maximumByteCount: .max)
        try countedTurns {
            for _ in 0..<count { _ = try coder.encode(Message.sample) }
        }
    }

    private static func decode(_ count: Int) throws {
        let coder = PayloadCoder(maximumByteCount: .max)
        let payload = try coder.encode(Message.sample)
        try countedTurns {
            for _ in 0..<count { _ = try coder.decode(Message.self, from: payload).get() }
        }
    }

    /// The scheduler's decisions for actions of several queues, one permit for each.
    private static func schedule(_ count: Int) {
        let queues = (1...64).map { QueueID(rawValue: Int64($0)) }
        var machine = SchedulerStateMachine(concurrency: queues.count / 2)
        var orders: [ClaimRequest] = []
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

    /// Enqueues from many callers, all while the transaction of the ones before is under way.
    private static func enqueueGroups(_ count: Int, _ file: String) throws {
        let store = try Store(.file(file), options: relaxed) { _ in }
        let coder = PayloadCoder(maximumByteCount: .max)
        // What a completion submits waits for the end of the transaction.
        @Sendable func submit(_ left: Int, _ done: @escaping @Sendable (Result<Void, any Error>) -> Void) {
            guard left > 0 else { return done(.success(())) }
            for number in 1...group {
                do {
                    let draft = ActionDraft(
                        queue: Message.sample.queue,
                        kind: Message.kind,
                        sortKey: .arrival,
                        payload: try coder.encode(Message.sample)
                    )
                    store.submit([draft]) { result in
                        if case .failure(let error) = result { return done(.failure(error)) }
                        if number == group { submit(left - group, done) }
                    }
                } catch {
                    done(.failure(error))
                }
            }
        }
        try completed { done in
            store.submit([]) { _ in submit(count, done) }
        }
        try wait { await store.close() }
    }

    private static func enqueueBatches(_ count: Int, _ file: String, queues: Int, existing: Int = 0) throws {
        let store = try Store(.file(file), options: relaxed) { _ in }
        if existing > 0 { _ = try store.enqueueBlocking(drafts(existing, queues: queues)) }
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
    private static func drain(_ loop: Loop, _ count: Int, _ file: String, queues: Int) throws {
        let (store, requests) = try running(file, actions: loop.many + queues, queues: queues)
        let admission = Admission()
        var running = try completed { store.claim(requests, by: admission, completion: $0) }
        try countedTurns {
            for turn in 0..<count {
                guard case .claimed(let action) = running[turn % queues] else { throw WrongCount() }
                let answer = try completed {
                    store.settle(
                        action.receipt,
                        .success,
                        thenClaim: requests[turn % queues],
                        by: admission,
                        completion: $0
                    )
                }
                guard answer.result == .settled, let next = answer.claim else { throw WrongCount() }
                running[turn % queues] = next
            }
        }
        try wait { await store.close() }
    }

    /// Settles and claims as many actions in one transaction as there are slots, queue after queue.
    private static func drainGroups(_ loop: Loop, _ count: Int, _ file: String, queues: Int) throws {
        let (store, requests) = try running(file, actions: loop.many + group, queues: queues)
        let admission = Admission()
        let first = try completed { store.claim(Array(requests[..<group]), by: admission, completion: $0) }
        // What a completion submits waits for the end of the transaction.
        @Sendable func settle(
            _ running: [ClaimResult],
            _ turn: Int,
            _ done: @escaping @Sendable (Result<Void, any Error>) -> Void
        ) {
            guard turn < count else { return done(.success(())) }
            let next = Mutex<[ClaimResult]>([])
            for (index, result) in running.enumerated() {
                guard case .claimed(let action) = result else { return done(.failure(WrongCount())) }
                let request = requests[(group + turn + index) % queues]
                store.settle(
                    action.receipt,
                    .success,
                    thenClaim: request,
                    by: admission,
                    commitsOnWriterThread: true
                ) { outcome in
                    guard case .success(let answer) = outcome, answer.result == .settled,
                        let claimed = answer.claim
                    else {
                        return done(.failure(WrongCount()))
                    }
                    let all = next.withLock { next in
                        next.append(claimed)
                        return next
                    }
                    if all.count == group { settle(all, turn + group, done) }
                }
            }
        }
        try completed { done in
            store.submit([]) { _ in settle(first, 0, done) }
        }
        try wait { await store.close() }
    }

    /// Opens a file with actions, and becomes the process that runs its queues.
    private static func running(
        _ file: String,
        actions: Int,
        queues: Int
    ) throws -> (store: Store, requests: [ClaimRequest]) {
        let store = try Store(.file(file), options: relaxed) { _ in }
        let stored = try store.enqueueBlocking(drafts(actions, queues: queues))
        let ids = try wait {
            try await store.startRunning()
            return try await store.queuesWithWork(.newest(thenLimit: queues)).queues
        }
        guard stored.count == actions, ids.count == queues else { throw WrongCount() }
        return (store, ids.map { ClaimRequest(queue: $0) })
    }

    /// Runs a handler for the first actions of a file, through the public face.
    private static func attempts(_ loop: Loop, _ count: Int, _ file: String) throws {
        try wait {
            let broker = try await Broker(file: file, options: relaxed)
            try await broker.enqueue(Array(repeating: Message.sample, count: loop.many + 1))
            let started = Mutex(0)
            try broker.route(.all, Message.self) { _, _ in
                let number = started.withLock { started in
                    started += 1
                    return started
                }
                if number <= count { return .success }
                // So that no attempt more than these has ended when it stops.
                Task { await broker.stop(grace: .zero) }
                try await Task.sleep(for: .seconds(3_600))
                return .success
            }
            try await broker.run()
            await broker.close()
        }
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

    static func payload() throws -> String { try PayloadCoder(maximumByteCount: .max).encode(Message.sample) }

    private static func drafts(_ count: Int, queues: Int) throws -> [ActionDraft] {
        let payload = try payload()
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
