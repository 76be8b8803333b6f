public import Sluice
internal import Synchronization

/// A broker of a test's own, whose clock stands still until the test moves it.
///
/// ```swift
/// let test = try await TestBroker(.file) { broker in
///     try broker.route("conversation/*", to: Sender(server))
/// }
/// try await test.broker.enqueue(message)
/// try await test.drain()                  // until nothing can go on before time passes
/// test.clock.advance(by: .seconds(30))
/// try await test.drain()                  // what waited for these 30 seconds has been tried again
/// ```
///
/// It is a `Broker` as in production, with the same SQL, the same order and the same rules. What the test
/// can do beside that is to wait until nothing moves, to hold attempts before their handlers, to say
/// what they end with, and to look at what has happened.
public final class TestBroker: Sendable {
    /// Where the queues are kept.
    public enum Storage: String, Sendable, CaseIterable {
        /// In memory: the quickest, and nothing outlives ``restart()``.
        case memory
        /// In a file of the test's own, which goes when the value goes.
        case file
    }

    struct State {
        var broker: Broker
        var isHeld = false
        var run: Run?
    }

    /// A call of `run()`.
    struct Run {
        let task: Task<Void, any Error>
        let end: EventLog<Result<Void, any Error>>
    }

    /// The broker's clock.
    public let clock: ManualClock
    /// What has happened, over restarts.
    public let events: EventRecorder
    let file: TemporaryFile?
    let turnstile: Turnstile
    let state: Mutex<State>
    let restWaiters = RestWaiters()
    private let options: BrokerOptions
    private let setUp: @Sendable (Broker) throws -> Void

    /// Opens a broker; it runs from the first ``start()`` or ``drain()`` on.
    ///
    /// - Parameters:
    ///   - storage: Where the queues are kept.
    ///   - clock: The broker's clock.
    ///   - options: The broker's options; the clock is this one whatever they say.
    ///   - setUp: Adds routes, and is called again for the broker that a ``restart()`` opens.
    /// - Throws: What `setUp` throws, and errors of the file.
    public init(
        _ storage: Storage = .memory,
        clock: ManualClock = ManualClock(),
        options: BrokerOptions = BrokerOptions(),
        setUp: @escaping @Sendable (Broker) throws -> Void = { _ in }
    ) async throws {
        var options = options
        let turnstile = Turnstile(restWaiters)
        options.clock = clock
        options.restWaiters = restWaiters
        // The innermost: what an attempt is told to end with goes through the test's middleware too.
        options.middleware.append(turnstile)
        self.clock = clock
        self.options = options
        self.setUp = setUp
        self.turnstile = turnstile
        file = storage == .file ? try TemporaryFile() : nil
        events = EventRecorder()
        let broker = try await Self.open(file, options)
        state = Mutex(State(broker: broker))
        turnstile.onEnqueue = { [events] in events.note($0, $1) }
        events.attach(to: broker)
        try setUp(broker)
    }

    deinit {
        let state = state.withLock { $0 }
        turnstile.end()
        state.run?.task.cancel()
        // The file goes behind the broker.
        Task { [file] in
            await state.broker.close(grace: .zero)
            withExtendedLifetime(file) {}
        }
    }

    /// The broker: another one after each ``restart()`` with a file.
    public var broker: Broker { state.withLock { $0.broker } }

    /// The path of the file; `nil` in memory.
    public var path: String? { file?.path }

    /// What the history so far breaks, by the disciplines that the broker's queues have, and handlers that
    /// began before others of their queue had returned (G3).
    ///
    /// See ``EventHistory/violations(discipline:)``.
    public var violations: [EventHistory.Violation] {
        let broker = broker
        let overlaps = turnstile.overlaps.filter { overlap in
            overlap.others.count >= broker.discipline(of: overlap.queue).slotCount
        }
        return events.history.violations { broker.discipline(of: $0) }
            + overlaps.map { overlap in
                let text = "a handler of action \(overlap.action) began in \(overlap.queue) before those of"
                return EventHistory.Violation(guarantee: "G3", text: "\(text) \(overlap.others) had returned")
            }
    }

    private static func open(_ file: TemporaryFile?, _ options: BrokerOptions) async throws -> Broker {
        guard let file else { return try await Broker(inMemory: options) }
        return try await Broker(file: file.path, options: options)
    }
}

// MARK: - As it stands

extension TestBroker {
    /// How it stands, for people: the clock, why each queue does not move, the gates, and what is held.
    ///
    /// - Throws: What reading the file throws, as when the broker was closed.
    public func standing() async throws -> String {
        let gates = try await broker.gates().map { "gate \($0.name): \($0.isOpen ? "open" : "closed")" }
        let queues = try await broker.statuses().map { "\($0), depth \($0.depth)" }
        let held = heldAttempts.map { "held: \($0)" }
        let time = "the clock stands at \(clock.date)"
        return ([time] + (queues.isEmpty ? ["no queue has work"] : queues) + gates + held)
            .joined(separator: "\n")
    }
}

// MARK: - Life

extension TestBroker {
    /// Runs the queues, if they do not run; returns when the broker has looked at all of them.
    ///
    /// - Throws: What `Broker.run()` throws.
    public func start() async throws {
        try await begun()
    }

    /// - Returns: The call of `run()` that has looked at all queues.
    @discardableResult
    func begun() async throws -> Run {
        turnstile.begin()
        let run = state.withLock { state -> Run in
            if let run = state.run { return run }
            let end = EventLog<Result<Void, any Error>>()
            let task = Task { [broker = state.broker, restWaiters] in
                defer { restWaiters.changed() }
                do {
                    try await broker.run()
                    end.append(.success(()))
                } catch {
                    end.append(.failure(error))
                    throw error
                }
            }
            let run = Run(task: task, end: end)
            state.run = run
            return run
        }
        let broker = broker
        while !broker.hasLookedAround {
            if let end = run.end.elements.first {
                try end.get()
                break
            }
            try await restWaiters.wait { broker.hasLookedAround || !run.end.elements.isEmpty }
        }
        return run
    }

    /// Stops the queues; what runs is cancelled, and given back without its attempt being spent.
    ///
    /// It returns when all handlers have returned, also those that do not heed their cancellation.
    ///
    /// - Throws: What `Broker.run()` throws.
    public func stop() async throws {
        let (broker, run) = state.withLock { state in
            defer { state.run = nil }
            return (state.broker, state.run)
        }
        // First, so that nothing starts in the place of what ends with the turnstile.
        let ended = broker.beginStop(grace: .zero)
        turnstile.end()
        await ended()
        try await run?.task.value
        await events.catchUp()
    }

    /// Stops the broker and opens another one on the same file, as a new process would; in memory, the same
    /// one runs again.
    ///
    /// - Throws: What `Broker.run()` and the set-up throw, and errors of the file.
    public func restart() async throws {
        try await stop()
        if file != nil {
            await broker.close()
            let new = try await Self.open(file, options)
            state.withLock { $0.broker = new }
            events.attach(to: new)
            try setUp(new)
        }
        try await start()
    }

    /// Stops the queues and closes the broker.
    public func close() async throws {
        try await stop()
        await broker.close()
        await events.catchUp()
    }
}
