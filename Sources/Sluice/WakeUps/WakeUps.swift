internal import Synchronization

/// Notices commits of other connections and processes while the broker runs (G11).
///
/// A watch on the WAL reports their writes within about a millisecond. If it cannot be set, the broker polls;
/// with a watch too, at ``safetyInterval``, for file systems that do not report every write.
/// ``WatchPlan`` decides, by the system's time, not the broker's clock: it waits for other processes.
final class WakeUps: Sendable {
    /// Calls to the broker's store, made on the queue.
    struct Delegate: Sendable {
        let walPath: @Sendable () throws -> String
        /// Returns whether others have committed changes that the writer has not read.
        var look: @Sendable () throws -> Bool
        /// Makes the writer read them; it must not block for long.
        var takeIn: @Sendable (_ completion: @escaping @Sendable () -> Void) -> Void
        /// Returns how often the writer has read the commits of others.
        let turns: @Sendable () -> Int
    }

    /// How often the broker polls while the watch is set.
    static let safetyInterval: Duration = .seconds(1)

    private struct State {
        var plan = WatchPlan()
        var isStarted = false
        var watch: (any WorkWatch)?
        var timer: (any WorkTimer)?
        var timerTime: Duration?
        var isTakingIn = false
        /// Whether another check has become due.
        var isLookLeft = false
    }

    private let queue: any WorkQueue
    private let place: any WorkPlace
    private let delegate: Delegate
    private let isOn = Atomic(false)
    /// Confined to `queue`.
    private nonisolated(unsafe) var state = State()

    init(_ place: any WorkPlace, _ queue: any WorkQueue, _ delegate: Delegate) {
        (self.place, self.queue, self.delegate) = (place, queue, delegate)
    }

    /// Creates it for the store of a file; `nil` in memory, where there are no other connections.
    convenience init?(of store: Store) {
        guard let lookout = store.lookout else { return nil }
        let delegate = Delegate(
            walPath: { try lookout.walPath() },
            look: {
                store.checkWAL()
                return try lookout.hasForeignChanges()
            },
            takeIn: { done in store.write(sync: .later, { _ in }, completion: { _ in done() }) },
            turns: { store.turns.count }
        )
        self.init(store.place, lookout.queue, delegate)
    }

    /// Whether the watch reports writes, and polling is a safety net.
    var isWatching: Bool { isOn.load(ordering: .relaxed) }

    /// Returns whether no check is due, for tests to wait for.
    func isQuiet() async -> Bool {
        await withCheckedContinuation { continuation in
            queue.add { continuation.resume(returning: self.state.plan.nextTime == nil) }
        }
    }

    func start() {
        queue.add {
            self.state.isStarted = true
            self.begin()
        }
    }

    /// Ends the watch, and returns when its descriptor is closed.
    func stop() async {
        await withCheckedContinuation { continuation in
            queue.add { self.end { continuation.resume() } }
        }
    }

    /// Returns whether others have committed changes that the writer has not read.
    ///
    /// If the watch is wanted but not set, it tries again: the WAL or a free inotify instance was missing.
    func poll() async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            queue.add {
                if self.state.watch != nil {
                    self.state.plan.start(at: self.place.now)
                    self.proceed()
                } else if self.state.isStarted {
                    self.begin()
                }
                continuation.resume(with: Result { try self.delegate.look() })
            }
        }
    }

    // MARK: - On the queue

    private func begin() {
        // A WAL with an unknown path is not watched: the first poll reports the error of the file.
        guard state.watch == nil, let path = try? delegate.walPath() else { return }
        state.watch = place.watch(path, on: queue) { [weak self] in self?.fired() }
        guard state.watch != nil else { return }
        state.timer = queue.timer { [weak self] in
            self?.state.timerTime = nil
            self?.proceed()
        }
        state.plan.start(at: place.now)
        proceed()
    }

    private func end(_ ended: @escaping @Sendable () -> Void) {
        let watch = state.watch
        state = State()
        isOn.store(false, ordering: .relaxed)
        if let watch { watch.end(ended) } else { ended() }
    }

    private func fired() {
        state.plan.fired(at: place.now, turns: delegate.turns())
        proceed()
    }

    private func proceed() {
        while let step = state.plan.step(at: place.now, turns: delegate.turns()) {
            switch step {
            case .arm:
                if state.watch?.arm() == true {
                    state.plan.armed(at: place.now, turns: delegate.turns())
                } else {
                    state.plan.failed()
                }
            case .look: look()
            }
        }
        isOn.store(state.plan.isOn, ordering: .relaxed)
        setTimer(state.plan.nextTime)
    }

    /// Checks the file; the next check or poll repeats an error, and the poll reports it.
    private func look() {
        // While the writer takes commits in, there may be later ones.
        state.isLookLeft = state.isTakingIn
        guard !state.isTakingIn, (try? delegate.look()) == true else { return }
        state.plan.found(at: place.now)
        state.isTakingIn = true
        delegate.takeIn {
            self.queue.add {
                self.state.isTakingIn = false
                if self.state.isLookLeft { self.look() }
            }
        }
    }

    private func setTimer(_ time: Duration?) {
        guard time != state.timerTime else { return }
        state.timerTime = time
        state.timer?.set(time)
    }
}
