internal import Synchronization

/// The status of one queue, first now and then after each change, for one task to iterate over.
///
/// ```swift
/// for try await status in broker.statusUpdates(of: "conversation/42") { show(status) }
/// ```
///
/// See ``Broker/statusUpdates(of:)``.
public struct QueueStatusUpdates: AsyncSequence, Sendable {
    /// A status.
    public typealias Element = QueueStatus
    /// Errors of reading the file.
    public typealias Failure = SluiceError

    private let broker: Broker
    private let queue: QueueName

    init(_ broker: Broker, _ queue: QueueName) {
        self.broker = broker
        self.queue = queue
    }

    /// Makes an iterator, which begins with the current status.
    public func makeAsyncIterator() -> Iterator {
        defer { broker.isObserved() }
        return Iterator(broker: broker, queue: queue, watch: QueueWatch(broker.observers, queue))
    }

    /// Returns one status after the other, always the latest.
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

        /// Returns the next status that differs from the last; `nil` if the broker was closed or the task is
        /// cancelled.
        public mutating func next() async throws(SluiceError) -> QueueStatus? {
            while await watch.changed() {
                do {
                    var status = try await broker.status(of: queue)
                    let age = status.oldestAge
                    // The age alone is no change.
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

private final class WatchState: Sendable {
    private struct State {
        /// The first read is due.
        var mayHaveChanged = true
        var hasEnded = false
        var id: QueueID?
        /// The queue's number is being read, so a poke of any queue may be about this one.
        var isLookingUp = false
        var waiter: CheckedContinuation<Bool, Never>?
    }

    private let state = Mutex(State())
    private let queue: QueueName

    init(_ queue: QueueName) { self.queue = queue }

    func receive(_ events: [QueueEvent]) {
        // Gates and holds have no queue, and may affect any.
        if events.contains(where: { $0.queue == queue || $0.queue == nil || $0.target == queue }) { note() }
    }

    /// - Parameter id: `nil` is every queue.
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
