internal import Synchronization

/// The status of one queue, and again each time that it has changed, for one task to iterate over.
///
/// ```swift
/// for try await status in broker.statusUpdates(of: "conversation/42") { show(status) }
/// ```
///
/// The status now comes first. See ``Broker/statusUpdates(of:)``.
public struct QueueStatusUpdates: AsyncSequence, Sendable {
    /// A status.
    public typealias Element = QueueStatus
    /// What reading the file throws.
    public typealias Failure = SluiceError

    private let broker: Broker
    private let queue: QueueName

    init(_ broker: Broker, _ queue: QueueName) {
        self.broker = broker
        self.queue = queue
    }

    /// Makes an iterator, which begins with the status as it is then.
    public func makeAsyncIterator() -> Iterator {
        defer { broker.isObserved() }
        return Iterator(broker: broker, queue: queue, watch: QueueWatch(broker.observers, queue))
    }

    /// Gives one status after the other, the latest each time.
    public struct Iterator: AsyncIteratorProtocol {
        let broker: Broker
        let queue: QueueName
        let watch: QueueWatch
        private var last: QueueStatus?

        init(broker: Broker, queue: QueueName, watch: QueueWatch) {
            self.broker = broker
            self.queue = queue
            self.watch = watch
        }

        /// The status once it is another than the one given last; `nil` once the broker was closed or the
        /// task is cancelled.
        public mutating func next() async throws(SluiceError) -> QueueStatus? {
            while await watch.changed() {
                do {
                    var status = try await broker.status(of: queue)
                    let age = status.oldestAge
                    // It grows by itself, and is no news.
                    status.oldestAge = .zero
                    watch.knows(status.queueID)
                    guard status != last else { continue }
                    last = status
                    status.oldestAge = age
                    return status
                } catch {
                    if error.code == .closed { return nil }
                    throw error
                }
            }
            return nil
        }
    }
}

/// Tells whether something may have changed about a queue since it was asked last.
final class QueueWatch: Sendable {
    private let state: WatchState
    private let unsubscribe: @Sendable () -> Void

    init(_ observers: Observers, _ queue: QueueName) {
        let state = WatchState(queue)
        self.state = state
        unsubscribe = observers.add(
            Observers.Subscriber(
                receive: { state.receive($0) },
                poke: { state.poke($0) },
                end: { state.end() }
            )
        )
    }

    deinit { unsubscribe() }

    /// Notes the queue's number, once the file has one.
    func knows(_ id: QueueID?) { state.knows(id) }

    /// Returns when something may have changed, at once the first time; `false`: there is no more to come.
    func changed() async -> Bool {
        await withTaskCancellationHandler {
            await state.changed()
        } onCancel: {
            unsubscribe()
            state.end()
        }
    }
}

private final class WatchState: Sendable {
    private struct State {
        /// A first look is due.
        var mayHaveChanged = true
        var hasEnded = false
        var id: QueueID?
        /// The queue's number is being looked up: what is told of any queue may be about this one.
        var isLookingUp = false
        var waiter: CheckedContinuation<Bool, Never>?
    }

    private let state = Mutex(State())
    private let queue: QueueName

    init(_ queue: QueueName) { self.queue = queue }

    func receive(_ events: [QueueEvent]) {
        // Gates and holds have no queue, and may concern any.
        if events.contains(where: { $0.queue == queue || $0.queue == nil || $0.target == queue }) { note() }
    }

    /// - Parameter id: `nil`: every queue.
    func poke(_ id: QueueID?) {
        if id == nil || state.withLock({ $0.id == id || $0.isLookingUp }) { note() }
    }

    func knows(_ id: QueueID?) {
        state.withLock { state in
            state.id = id
            state.isLookingUp = false
        }
    }

    func changed() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Bool? in
                if state.hasEnded { return false }
                guard state.mayHaveChanged else {
                    precondition(state.waiter == nil, "two tasks wait for one status; iterate twice")
                    state.waiter = continuation
                    return nil
                }
                state.mayHaveChanged = false
                state.isLookingUp = state.id == nil
                return true
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func end() {
        let waiter = state.withLock { state in
            state.hasEnded = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: false)
    }

    private func note() {
        let waiter = state.withLock { state in
            state.mayHaveChanged = state.waiter == nil
            state.isLookingUp = state.id == nil
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: true)
    }
}
