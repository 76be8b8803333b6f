internal import Logging
public import Sluice
internal import Synchronization

/// Runs a broker while the application may work, and releases its file while it may not.
///
/// ```swift
/// let background = try BackgroundCoordinator(broker, extension: assertion, processing: task)
/// Task { try await background.run() }     // in place of broker.run()
///
/// background.willEnterForeground()           // when the application enters the foreground
/// await background.didEnterBackground()      // when it leaves it
/// ```
///
/// - In the foreground the broker runs.
/// - When the application leaves the foreground with work in progress, the coordinator requests an extension,
///   and the broker runs on.
/// - When the extension expires, running actions are cancelled and released without spending an attempt, and
///   processing time is requested. The broker runs in that time; if it expires with work left, it is
///   requested again.
/// - When nothing is in progress any more, the time is given back. When no work is left, nothing is
///   requested.
/// - A return to the foreground cancels the request, and the broker runs at once.
///
/// An extension and processing time are never held at the same time. Before either is given back, the broker
/// is suspended (`BrokerFile.suspend()`): no transaction is open and no lock is held. Enqueues then wait
/// until the broker runs again. Code that the system wakes for another reason, such as a push, calls
/// `BrokerFile.resume()` before it enqueues. It then calls `BrokerFile.suspend()`, which requests processing
/// time.
public final class BackgroundCoordinator: Sendable {
    /// A command for the task of ``run()``.
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
        /// A thread performs effects, and will perform new ones too.
        var isPerforming = false
        /// Checks whether work is in progress, while the broker runs in the background.
        var watch: Task<Void, Never>?
        /// Callers that wait for the end of a stop.
        var waiters: [CheckedContinuation<Void, Never>] = []
        var isRun = false
        var runCount = 0
    }

    /// The first pause between two checks of the broker in the background; it doubles up to the longest.
    private static let firstPause: Duration = .milliseconds(50)
    private static let longestPause: Duration = .seconds(1)

    let broker: Broker
    let engine: FileEngine
    let options: BackgroundOptions
    private let extensionTime: any BackgroundExtension
    private let processingTime: any BackgroundProcessing
    private let life: Mutex<Life>
    let commands: AsyncStream<Command>
    let command: AsyncStream<Command>.Continuation

    /// Makes a coordinator, which does nothing before ``run()``.
    ///
    /// - Parameters:
    ///   - broker: A broker of the role `BrokerRole.run` that no other code runs or stops.
    ///   - extensionTime: Requested if work is in progress when the application leaves the foreground.
    ///   - processingTime: Requested if work is left. Processing time that the system has already begun
    ///     counts.
    ///   - options: How the time is used.
    /// - Throws: `SluiceError.Code.invalidOptions`; `unsupported` for a broker on a server.
    public init(
        _ broker: Broker,
        extension extensionTime: any BackgroundExtension,
        processing processingTime: any BackgroundProcessing,
        options: BackgroundOptions = BackgroundOptions()
    ) throws(SluiceError) {
        try options.validate()
        engine = try broker.fileEngine(for: "a background coordinator")
        self.broker = broker
        self.options = options
        self.extensionTime = extensionTime
        self.processingTime = processingTime
        life = Mutex(Life(machine: BackgroundStateMachine(options: options)))
        (commands, command) = AsyncStream.makeStream()
        engine.onSuspension { [weak self] in self?.handle(.workCame($0)) }
        processingTime.connect { [weak self] in
            self?.handle(.processingBegan)
        } expired: { [weak self] in
            self?.handle(.processingExpired)
        }
    }

    /// The current state.
    public var state: BackgroundState { life.withLock { $0.machine.state } }

    /// Runs the broker, as the application is in the foreground.
    ///
    /// Call it at the start too, unless the system has started the process in the background.
    public func willEnterForeground() { handle(.enteredForeground) }

    /// Handles that the application has left the foreground.
    ///
    /// It returns when an extension is held, or ``run()`` has released the file. If the system may suspend
    /// the process earlier, prevent that: `follow(_:)` does, for `UIApplication`.
    public func didEnterBackground() async {
        leave()
        await stopped()
    }

    /// Begins to leave the foreground; an extension is held, or refused, when it returns.
    func leave() { handle(.leftForeground(engine.workAhead)) }

    /// Waits until no stop is in progress.
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
    /// Performs the effects of an event, after those of earlier events.
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

    /// Returns the next effect; without one, resumes the callers that wait for the state.
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

    /// Starts or ends the watch, which runs while the broker runs on the system's time.
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

    /// Handles a broker without work in progress; otherwise waits until it is idle, or for the pause.
    private func look(_ pause: Duration) async {
        let clock = broker.options.clock
        // Computed before the check, so that the time of the check counts.
        let time = clock.uptime + pause
        let work = engine.workAhead
        let timeLeft = processingTime.timeLeft
        let isInProgress = life.withLock { life in
            if life.machine.state == .processing { life.machine.timeLeft = timeLeft }
            return life.machine.isInProgress(work)
        }
        if !isInProgress {
            // This cancels the current task.
            return handle(.rested(work))
        }
        await withTaskGroup(of: Void.self) { [broker] group in
            group.addTask { do { try await clock.sleep(untilUptime: time) } catch {} }
            // During the end of an earlier run, `waitUntilIdle()` returns at once.
            if !engine.isStopping { group.addTask { await broker.waitUntilIdle() } }
            await group.next()
            group.cancelAll()
        }
    }

    /// Begins a call of ``run()``.
    ///
    /// - Returns: The number of the call; `nil` when there is another one.
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
