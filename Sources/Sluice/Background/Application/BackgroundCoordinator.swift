internal import Logging
internal import Synchronization

/// Runs a broker while the application may work, and has it let go of its file while it may not.
///
/// ```swift
/// let background = try BackgroundCoordinator(broker, extension: assertion, processing: task)
/// Task { try await background.run() }     // in place of broker.run()
///
/// background.enterForeground()            // when the application has come to the foreground
/// await background.leaveForeground()      // when it has left it
/// ```
///
/// - In the foreground the broker runs.
/// - When the application leaves it with work in progress, an extension is asked for, and the broker runs on.
/// - When that expires, what runs is cancelled and released without an attempt being spent, and processing
///   time is asked for. When that comes, the broker runs; when it expires with work left, it is asked for
///   again.
/// - When nothing is in progress any more, the time is given back; when nothing is left, nothing is asked
///   for.
/// - A return to the foreground takes the request back, and the broker runs at once.
///
/// An extension and processing time are never held at the same time, and before either is given back the
/// broker is suspended (``Broker/suspend()``): no transaction is open and no lock is held. What is
/// enqueued then waits until the broker runs again; code that the system wakes for something else, such as
/// a push, calls ``Broker/resume()`` before it enqueues, and ``Broker/suspend()`` behind that, which has
/// processing time asked for.
public final class BackgroundCoordinator: Sendable {
    /// What the task of ``run()`` is to do.
    enum Command: Sendable {
        case run
        case stop(Int)
        /// A run of the broker has ended.
        case brokerEnded(BrokerRun)
        /// The call of ``run()`` with this number is cancelled.
        case end(Int)
    }

    private struct Life {
        var machine: BackgroundStateMachine
        var effects: [BackgroundStateMachine.Effect] = []
        /// Somebody performs effects, and will perform those that come meanwhile.
        var isPerforming = false
        /// Looks whether work is in progress, while the broker runs in the background.
        var watch: Task<Void, Never>?
        /// Those who wait for a stop to be over.
        var waiters: [CheckedContinuation<Void, Never>] = []
        var isRun = false
        var runCount = 0
    }

    /// How long after the first look at the broker the next one follows while it runs in the background; the
    /// pause doubles up to the longest.
    private static let firstPause: Duration = .milliseconds(50)
    private static let longestPause: Duration = .seconds(1)

    let broker: Broker
    let options: BackgroundOptions
    private let extensionTime: any BackgroundExtension
    private let processingTime: any BackgroundProcessing
    private let life: Mutex<Life>
    let commands: AsyncStream<Command>
    let command: AsyncStream<Command>.Continuation

    /// Makes a coordinator; nothing is done before ``run()``.
    ///
    /// - Parameters:
    ///   - broker: A broker of the role ``BrokerRole/run`` that nobody else runs or stops.
    ///   - extensionTime: Asked for when work is in progress as the application leaves the foreground.
    ///   - processingTime: Asked for when work is left. What the system has begun by now counts.
    ///   - options: How the time is used.
    /// - Throws: ``SluiceError/Code/invalidOptions``.
    public init(
        _ broker: Broker,
        extension extensionTime: any BackgroundExtension,
        processing processingTime: any BackgroundProcessing,
        options: BackgroundOptions = BackgroundOptions()
    ) throws(SluiceError) {
        try options.validate()
        self.broker = broker
        self.options = options
        self.extensionTime = extensionTime
        self.processingTime = processingTime
        life = Mutex(Life(machine: BackgroundStateMachine(options: options)))
        (commands, command) = AsyncStream.makeStream()
        broker.suspension.tell { [weak self] in self?.handle(.workCame($0)) }
        processingTime.connect { [weak self] in
            self?.handle(.processingBegan)
        } expired: { [weak self] in
            self?.handle(.processingExpired)
        }
    }

    /// Where it stands.
    public var state: BackgroundState { life.withLock { $0.machine.state } }

    /// The application is in the foreground: the broker runs from now on.
    ///
    /// Call it at the start too, unless the system has started the process in the background.
    public func enterForeground() { handle(.enteredForeground) }

    /// The application has left the foreground.
    ///
    /// It returns when an extension is held, or the file has been let go by ``run()``. Where the system may
    /// suspend the process before, keep it from that: `follow(_:)` does, for `UIApplication`.
    public func leaveForeground() async {
        leave()
        await stopped()
    }

    /// Has what follows from leaving the foreground begin; an extension is held, or refused, when it returns.
    func leave() { handle(.leftForeground(broker.workAhead)) }

    /// Returns when no stop is under way.
    func stopped() async {
        await withCheckedContinuation { continuation in
            let isOver = life.withLock { life in
                if life.machine.state.isStopping { life.waiters.append(continuation) }
                return !life.machine.state.isStopping
            }
            if isOver { continuation.resume() }
        }
    }
}

// MARK: - Events

extension BackgroundCoordinator {
    /// Performs what follows from an event, behind what follows from earlier ones.
    func handle(_ event: BackgroundStateMachine.Event) {
        let isFirst = life.withLock { life in
            let before = life.machine.state
            life.effects += life.machine.handle(event)
            let after = life.machine.state
            if after != before {
                broker.options.logger.debug(
                    "background",
                    metadata: ["from": "\(before.rawValue)", "to": "\(after.rawValue)"]
                )
            }
            defer { life.isPerforming = true }
            return !life.isPerforming
        }
        guard isFirst else { return }
        while let effect = nextEffect() { perform(effect) }
    }

    /// The next effect; without one, sees to those who wait for the state.
    private func nextEffect() -> BackgroundStateMachine.Effect? {
        typealias Waiters = [CheckedContinuation<Void, Never>]
        let (effect, waiters) = life.withLock { life -> (BackgroundStateMachine.Effect?, Waiters) in
            guard life.effects.isEmpty else { return (life.effects.removeFirst(), []) }
            life.isPerforming = false
            watchIfDue(&life)
            guard !life.machine.state.isStopping else { return (nil, []) }
            defer { life.waiters = [] }
            return (nil, life.waiters)
        }
        for waiter in waiters { waiter.resume() }
        return effect
    }

    private func perform(_ effect: BackgroundStateMachine.Effect) {
        switch effect {
        case .run: command.yield(.run)
        case .stop(let number): command.yield(.stop(number))
        case .beginExtension:
            let isGiven = extensionTime.begin { [weak self] in self?.handle(.extensionExpired) }
            if !isGiven { handle(.extensionRefused) }
        case .endExtension: extensionTime.end()
        case .requestProcessing(let delay):
            do {
                try processingTime.request(after: delay)
            } catch {
                broker.options.logger.debug(
                    "processing time was refused",
                    metadata: ["error": "\(error)"]
                )
                handle(.requestRefused)
            }
        case .cancelRequest: processingTime.cancelRequest()
        case .endProcessing(let isDone): processingTime.end(isDone: isDone)
        }
    }

    /// Looks at the broker's work while it runs by leave of the system, and only then.
    private func watchIfDue(_ life: inout Life) {
        if !life.machine.state.runsInBackground {
            life.watch?.cancel()
            life.watch = nil
        } else if life.watch == nil {
            life.watch = Task(executorPreference: executor) { [weak self] in
                var pause = Self.firstPause
                while let self, !Task.isCancelled {
                    await look(pause)
                    pause = min(pause * 2, Self.longestPause)
                }
            }
        }
    }

    /// Tells if nothing is in progress; else returns when the broker is idle, or a moment later.
    private func look(_ pause: Duration) async {
        let clock = broker.options.clock
        // Before the look: a moment that passes during it counts.
        let time = clock.uptime + pause
        let work = broker.workAhead
        let timeLeft = processingTime.timeLeft
        let isInProgress = life.withLock { life in
            if life.machine.state == .processing { life.machine.timeLeft = timeLeft }
            return life.machine.isInProgress(work)
        }
        if !isInProgress {
            // This task is cancelled by it.
            return handle(.rested(work))
        }
        await withTaskGroup(of: Void.self) { [broker] group in
            group.addTask { do { try await clock.sleep(untilUptime: time) } catch {} }
            // It returns at once while an earlier run is ending.
            let isEnding = broker.life.withLock { $0.state == .stopping }
            if !isEnding { group.addTask { await broker.waitUntilIdle() } }
            await group.next()
            group.cancelAll()
        }
    }

    /// One task at a time runs the broker.
    ///
    /// - Returns: The number of the call of ``run()``; `nil` when there is another one.
    func beginRun() -> Int? {
        life.withLock { life in
            guard !life.isRun else { return nil }
            life.isRun = true
            life.runCount += 1
            return life.runCount
        }
    }

    func endRun() { life.withLock { $0.isRun = false } }
}
