internal import Dispatch
internal import Synchronization

/// Notices what other connections and processes commit while the broker runs (G11).
///
/// A watch on the log tells of their writes within a millisecond or so and costs nothing while there are
/// none. Where it cannot be set the broker polls, and it polls at ``safetyInterval`` beside it too, for file
/// systems that do not tell of every write.
///
/// The watch goes by the time of the system, not by the broker's clock: the pauses are between calls of the
/// system, and what is waited for is another process. What it decides is in ``WatchPlan``, which is told the
/// time.
final class WakeUps: Sendable {
    /// What is asked of the broker's store, on the queue.
    struct Delegate: Sendable {
        /// The file that every commit writes to.
        let walPath: @Sendable () throws -> String
        /// Whether others have committed something that the writer has not taken in.
        var look: @Sendable () throws -> Bool
        /// Has the writer take it in; it must not block for long.
        var takeIn: @Sendable (_ completion: @escaping @Sendable () -> Void) -> Void
        /// How often the writer has read what others have committed.
        let turns: @Sendable () -> Int
        /// Makes a watch; `nil` where the system gives none.
        var watch: @Sendable (String, DispatchQueue, @escaping @Sendable () -> Void) -> FileWatch? = {
            FileWatch(path: $0, queue: $1, fired: $2)
        }
    }

    /// How often the broker looks while the watch is set.
    static let safetyInterval: Duration = .seconds(1)

    private struct State {
        var plan = WatchPlan()
        /// Between ``start()`` and ``stop()``: a watch is wanted.
        var isStarted = false
        var watch: FileWatch?
        var timer: (any DispatchSourceTimer)?
        var timerTime: Duration?
        var isTakingIn = false
        /// A look was due meanwhile.
        var isLookLeft = false
    }

    private let queue: DispatchQueue
    private let delegate: Delegate
    private let isOn = Atomic(false)
    /// Confined to `queue`.
    private nonisolated(unsafe) var state = State()

    init(queue: DispatchQueue, delegate: Delegate) {
        self.queue = queue
        self.delegate = delegate
    }

    /// Joins it with the store of a file; `nil` in memory, where there are no others.
    convenience init?(of store: Store) {
        guard let lookout = store.lookout else { return nil }
        let delegate = Delegate(
            walPath: { try lookout.walPath() },
            look: {
                store.checkWAL()
                return try lookout.hasForeignChanges()
            },
            takeIn: { completion in
                store.write(sync: .later) { _ in
                } completion: { _ in
                    completion()
                }
            },
            turns: { store.turns.count }
        )
        self.init(queue: lookout.queue, delegate: delegate)
    }

    /// Whether the watch tells of writes, so that polling is but a safety net.
    var isWatching: Bool { isOn.load(ordering: .relaxed) }

    /// Whether no look is due, for tests to wait for.
    func isQuiet() async -> Bool {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: self.state.plan.nextTime == nil) }
        }
    }

    /// Sets the watch.
    func start() {
        queue.async {
            self.state.isStarted = true
            self.begin()
        }
    }

    /// Ends the watch, and returns when its descriptor is closed.
    func stop() async {
        await withCheckedContinuation { continuation in
            queue.async { self.end { continuation.resume() } }
        }
    }

    /// Looks once, and tries to set the watch if it is wanted and is not.
    ///
    /// The system may give one later: the user's inotify instances were all in use, or the log was not there.
    ///
    /// - Returns: Whether others have committed something that the writer has not taken in.
    func poll() async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                if self.state.watch != nil {
                    self.state.plan.start(at: Self.now)
                    self.proceed()
                } else if self.state.isStarted {
                    self.begin()
                }
                continuation.resume(with: Result { try self.delegate.look() })
            }
        }
    }
}

// MARK: - On the queue

extension WakeUps {
    private static var now: Duration { .nanoseconds(DispatchTime.now().uptimeNanoseconds) }

    private static func point(_ time: Duration) -> DispatchTime {
        let (seconds, attoseconds) = time.components
        return DispatchTime(uptimeNanoseconds: UInt64(seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
    }

    private func begin() {
        // A log whose path is not known is not watched: the first poll says what ails the file.
        guard state.watch == nil, let path = try? delegate.walPath() else { return }
        state.watch = delegate.watch(path, queue) { [weak self] in
            self?.fired()
        }
        guard state.watch != nil else { return }
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { [weak self] in
            self?.state.timerTime = nil
            self?.proceed()
        }
        timer.activate()
        state.timer = timer
        state.plan.start(at: Self.now)
        proceed()
    }

    private func end(_ ended: @escaping @Sendable () -> Void) {
        let watch = state.watch
        state.timer?.cancel()
        state = State()
        isOn.store(false, ordering: .relaxed)
        if let watch { watch.end(ended) } else { ended() }
    }

    private func fired() {
        state.plan.fired(at: Self.now, turns: delegate.turns())
        proceed()
    }

    private func proceed() {
        while let step = state.plan.step(at: Self.now, turns: delegate.turns()) {
            switch step {
            case .arm:
                if state.watch?.arm() == true {
                    state.plan.armed(at: Self.now, turns: delegate.turns())
                } else {
                    state.plan.failed()
                }
            case .look: look()
            }
        }
        isOn.store(state.plan.isOn, ordering: .relaxed)
        setTimer(state.plan.nextTime)
    }

    /// Looks; an error is left to the next look, or to the next poll, which reports it.
    private func look() {
        guard !state.isTakingIn else {
            // What was committed behind the writer's turn, and before it is known here to be over.
            state.isLookLeft = true
            return
        }
        state.isLookLeft = false
        guard (try? delegate.look()) == true else { return }
        state.plan.found(at: Self.now)
        state.isTakingIn = true
        delegate.takeIn {
            self.queue.async {
                self.state.isTakingIn = false
                if self.state.isLookLeft { self.look() }
            }
        }
    }

    private func setTimer(_ time: Duration?) {
        guard time != state.timerTime else { return }
        state.timerTime = time
        state.timer?.schedule(deadline: time.map(Self.point) ?? .distantFuture, leeway: .nanoseconds(0))
    }
}
