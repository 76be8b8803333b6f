internal import HashTreeCollections
internal import Synchronization

/// One observation: collects what may have changed, and reads it when its consumer asks for more.
///
/// It subscribes first and reads then, so that no change is missed. The first read is given even without a
/// difference, since the consumer knows then that it is up to date; later ones are not.
///
/// Many states are read as a whole, after commits of others that do not say what they concern, so seldom that
/// this uses a hundredth of a core.
final class StateObservation<Source: StateSource>: Sendable {
    private let source: Source
    private let watch: StateWatch<Source>
    private let token: ObservationToken
    private let clock: any BrokerClock

    /// Up to so many states are read at once, whatever that costs.
    private static var fewStates: Int { 1_000 }
    /// How many times as long as such a read the pause after it is, and the longest pause.
    private static var pauses: (factor: Int, limit: Duration) { (100, .seconds(90)) }

    /// - Parameters:
    ///   - known: The states that the consumer knows; `nil`: it gets a snapshot first.
    ///   - clock: Measures the reads.
    ///   - interval: After this time others may have committed, if nobody else notices it.
    init(
        _ observers: Observers,
        _ source: Source,
        known: Source.Known?,
        clock: any BrokerClock,
        pollingEvery interval: Duration? = nil
    ) {
        let watch = StateWatch(source, known)
        (self.source, self.watch, self.clock) = (source, watch, clock)
        let subscriber = Observers.Subscriber(
            receive: { watch.receive($0) },
            asksForOthers: true,
            poke: { watch.receive($0) },
            pokeAfterOthers: { watch.receiveCommitOfOthers() },
            end: { watch.end() }
        )
        token = ObservationToken(observers, subscriber) { watch.end() }
        if let interval { poll(every: interval) }
    }

    private func poll(every interval: Duration) {
        Task { [clock, weak watch = self.watch] in
            repeat {
                do { try await clock.sleep(untilUptime: clock.uptime + interval) } catch { return }
            } while watch?.receiveCommitOfOthers() == true
        }
    }

    /// Waits for the next update; `nil` is the end.
    func next() async throws(SluiceError) -> StateUpdate<Source.State>? {
        while let change = await due() {
            do throws(SluiceError) {
                if let update = try await read(change.dirty, change.known) { return update }
            } catch {
                watch.failed(change.dirty)
                if error.code == .closed { return nil }
                throw error
            }
        }
        return nil
    }

    /// Waits until something may have changed; `nil` is the end.
    private func due() async -> (dirty: DirtyStates, known: Source.Known)? {
        await withTaskCancellationHandler {
            await watch.due()
        } onCancel: {
            token.cancel()
        }
    }

    private func read(
        _ dirty: DirtyStates,
        _ before: Source.Known
    ) async throws(SluiceError) -> StateUpdate<Source.State>? {
        var known = dirty.startsOver ? [:] : before
        let start = clock.uptime
        let (matching, gone) = try await source.read(dirty, known)
        if dirty.isAll && matching.count > Self.fewStates { pause(after: clock.uptime - start) }
        let states = matching.filter { $0 != known[$0.id] }
        for state in states { known[state.id] = state }
        for state in gone { known[state.id] = nil }
        let isFirst = watch.knows(known)
        guard isFirst || dirty.startsOver || !states.isEmpty || !gone.isEmpty else { return nil }
        return StateUpdate(
            isSnapshot: dirty.startsOver,
            states: states,
            gone: gone,
            position: StateUpdate<Source.State>.Position(known: known)
        )
    }

    private func pause(after cost: Duration) {
        let end = clock.uptime + min(cost * Self.pauses.factor, Self.pauses.limit)
        watch.beginPause()
        Task { [clock, weak watch = self.watch] in
            try? await clock.sleep(untilUptime: end)
            watch?.endPause()
        }
    }
}

/// What may have changed, or the task that waits for a change.
private final class StateWatch<Source: StateSource>: Sendable {
    private struct Watched {
        var dirty: DirtyStates
        var known: Source.Known
        var isReading = false
        var hasBeenRead = false
        var hasEnded = false
        /// Reads of everything that last, after which there is a pause.
        var pauseCount = 0
        var waiter: CheckedContinuation<Void, Never>?
        var isDue: Bool { hasEnded || !dirty.isEmpty || dirty.isAllLater && pauseCount == 0 }
    }

    private let watched: Mutex<Watched>
    private let source: Source

    init(_ source: Source, _ known: Source.Known?) {
        self.source = source
        var dirty = DirtyStates.snapshot
        if known != nil {
            dirty = DirtyStates()
            dirty.addAll()
        }
        watched = Mutex(Watched(dirty: dirty, known: known ?? [:]))
    }

    func receive(_ events: [QueueEvent]) {
        update { watched in
            for event in events {
                source.note(event, watched.known, isReading: watched.isReading, in: &watched.dirty)
            }
        }
    }

    /// - Parameter queue: The queue that may have changed in memory; `nil`: everything may have changed.
    func receive(_ queue: QueueID?) {
        update { watched in
            guard let queue else { return watched.dirty.addAll() }
            source.note(queue, watched.known, isReading: watched.isReading, in: &watched.dirty)
        }
    }

    /// - Returns: Whether the observation goes on.
    @discardableResult
    func receiveCommitOfOthers() -> Bool {
        update { $0.dirty.addAllLater() }
        return !watched.withLock(\.hasEnded)
    }

    func end() { update { $0.hasEnded = true } }
    func beginPause() { update { $0.pauseCount += 1 } }
    func endPause() { update { $0.pauseCount -= 1 } }

    func due() async -> (dirty: DirtyStates, known: Source.Known)? {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isDue = watched.withLock { watched -> Bool in
                if watched.isDue { return true }
                precondition(watched.waiter == nil, "two tasks wait for one observation; iterate twice")
                watched.waiter = continuation
                return false
            }
            if isDue { continuation.resume() }
        }
        return watched.withLock { watched -> (dirty: DirtyStates, known: Source.Known)? in
            if watched.hasEnded { return nil }
            watched.isReading = true
            return (watched.dirty.take(withLater: watched.pauseCount == 0), watched.known)
        }
    }

    /// - Returns: Whether it is the first that has been read.
    func knows(_ known: Source.Known) -> Bool {
        watched.withLock { watched in
            defer { watched.hasBeenRead = true }
            (watched.known, watched.isReading) = (known, false)
            return !watched.hasBeenRead
        }
    }

    /// Has the same read again, as a read has failed.
    func failed(_ dirty: DirtyStates) {
        watched.withLock { watched in
            watched.isReading = false
            watched.dirty.formUnion(dirty)
        }
    }

    private func update(_ change: (inout Watched) -> Void) {
        let waiter = watched.withLock { watched -> CheckedContinuation<Void, Never>? in
            change(&watched)
            guard watched.isDue else { return nil }
            defer { watched.waiter = nil }
            return watched.waiter
        }
        waiter?.resume()
    }
}
