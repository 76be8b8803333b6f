public import Sluice
internal import Synchronization

/// A broker for a test, with a clock that only the test moves.
///
/// ```swift
/// let test = try await TestBroker(.file) { broker in
///     try broker.route("conversation/*", to: Sender(server))
/// }
/// try await test.broker.enqueue(message)
/// try await test.drain()                  // until nothing can continue before time passes
/// test.clock.advance(by: .seconds(30))
/// try await test.drain()                  // due retries have been tried
/// ```
///
/// It is a `Broker` as in production, with the same SQL, order and rules. In addition, a test can wait until
/// nothing moves, hold attempts before their handlers, choose their outcomes, and read the history.
public final class TestBroker: Sendable {
    /// Where the queues are kept.
    public enum Storage: String, Sendable, CaseIterable {
        /// In memory: the quickest; nothing survives ``restart()``.
        case memory
        /// In a file of the test, which is removed with the value.
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
    /// The events, across restarts and crashes.
    public let events: EventRecorder
    let file: TemporaryFile?
    let turnstile: Turnstile
    let state: Mutex<State>
    let restWaiters = RestWaiters()
    private let options: BrokerOptions
    private let setUp: @Sendable (Broker) throws -> Void

    /// Opens a broker, which runs from the first ``start()`` or ``drain()`` on.
    ///
    /// - Parameters:
    ///   - storage: Where the queues are kept.
    ///   - clock: The broker's clock.
    ///   - options: The broker's options, except the clock.
    ///   - setUp: Adds routes; called again for the broker that a ``restart()`` or a crash opens.
    /// - Throws: Errors of `setUp` and of the file.
    public convenience init(
        _ storage: Storage = .memory,
        clock: ManualClock = ManualClock(),
        options: BrokerOptions = BrokerOptions(),
        setUp: @escaping @Sendable (Broker) throws -> Void = { _ in }
    ) async throws {
        let file = storage == .file ? try TemporaryFile() : nil
        try await self.init(file: file, clock, options, setUp)
    }

    /// Opens a broker on a file of the test, which other connections of the test may have opened before.
    ///
    /// Use it if the set-up needs the path, such as for handlers that write to a GRDB database:
    ///
    /// ```swift
    /// let file = try TemporaryFile()
    /// let pool = try openDatabase(file.path)
    /// let test = try await TestBroker(file) { broker in try addRoutes(to: broker, pool) }
    /// ```
    ///
    /// - Parameters:
    ///   - file: The file, which may not exist yet; it is removed after the broker is closed.
    ///   - clock: The broker's clock.
    ///   - options: The broker's options, except the clock.
    ///   - setUp: Adds routes; called again for the broker that a ``restart()`` or a crash opens.
    /// - Throws: Errors of `setUp` and of the file.
    public convenience init(
        _ file: TemporaryFile,
        clock: ManualClock = ManualClock(),
        options: BrokerOptions = BrokerOptions(),
        setUp: @escaping @Sendable (Broker) throws -> Void = { _ in }
    ) async throws {
        try await self.init(file: file, clock, options, setUp)
    }

    private init(
        file: TemporaryFile?,
        _ clock: ManualClock,
        _ options: BrokerOptions,
        _ setUp: @escaping @Sendable (Broker) throws -> Void
    ) async throws {
        var options = options
        let turnstile = Turnstile(restWaiters)
        options.clock = clock
        options.restWaiters = restWaiters
        // The innermost, so that chosen outcomes pass through the test's middleware too.
        options.middleware.append(turnstile)
        self.clock = clock
        self.options = options
        self.setUp = setUp
        self.turnstile = turnstile
        self.file = file
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
        // The file is removed after the broker is closed.
        Task { [file] in
            await state.broker.close(grace: .zero)
            withExtendedLifetime(file) {}
        }
    }

    /// The broker; a new one after each ``restart()`` with a file and each ``crash(afterHandlerOf:)``.
    public var broker: Broker { state.withLock { $0.broker } }

    /// The path of the file; `nil` in memory.
    public var path: String? { file?.path }

    /// The violations so far, including handlers that began before others of their queue had returned (G3).
    ///
    /// They are checked by the disciplines of the broker's queues. See
    /// ``EventHistory/violations(discipline:)``.
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
        guard let file else { return try await Broker.inMemory(options) }
        return try await Broker(file: file.path, options: options)
    }
}

// MARK: - As it stands

extension TestBroker {
    /// Describes the state: the clock, why each queue does not move, the gates, and the held attempts.
    ///
    /// - Throws: Errors of reading the file, such as after the broker was closed.
    public func standing() async throws -> String {
        let gates = try await broker.gates().map { "gate \($0.name): \($0.isOpen ? "open" : "closed")" }
        let queues = try await broker.statuses().map { "\($0), depth \($0.depth)" }
        let held = heldAttempts.map { "held: \($0)" }
        let time = "the clock is at \(clock.date)"
        return ([time] + (queues.isEmpty ? ["no queue has work"] : queues) + gates + held)
            .joined(separator: "\n")
    }
}

// MARK: - Life

extension TestBroker {
    /// Runs the queues, if they do not run; returns when the broker has read all of them.
    ///
    /// - Throws: Errors of `Broker.run()`.
    public func start() async throws {
        try await begun()
    }

    /// - Returns: The call of `run()` that has read all queues.
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
        while !broker.fileEngine.hasLookedAround {
            if let end = run.end.elements.first {
                try end.get()
                break
            }
            try await restWaiters.wait { broker.fileEngine.hasLookedAround || !run.end.elements.isEmpty }
        }
        return run
    }

    /// Stops the queues; running attempts are cancelled and given back without being spent.
    ///
    /// It waits for all handlers, also for handlers that ignore their cancellation.
    ///
    /// - Throws: Errors of `Broker.run()`.
    public func stop() async throws {
        let (broker, run) = state.withLock { state in
            defer { state.run = nil }
            return (state.broker, state.run)
        }
        // First, so that nothing starts in place of the attempts that end with the turnstile.
        let ended = broker.beginStop(grace: .zero)
        turnstile.end()
        await ended()
        try await run?.task.value
        await events.catchUp()
    }

    /// Stops the broker and opens a new one on the same file, like a new process.
    ///
    /// In memory, the same broker runs again.
    ///
    /// - Throws: Errors of `Broker.run()`, of the set-up and of the file.
    public func restart() async throws {
        try await stop()
        if file != nil {
            await broker.close()
            try await reopen()
        }
        try await start()
    }

    /// Opens a new broker on the file, with the routes of the set-up.
    func reopen() async throws {
        let new = try await Self.open(file, options)
        state.withLock { $0.broker = new }
        events.attach(to: new)
        try setUp(new)
    }

    /// Stops the queues and closes the broker.
    public func close() async throws {
        try await stop()
        await broker.close()
        await events.catchUp()
    }
}
