internal import Synchronization

/// Those who observe a broker's events; they are told on the committing thread, in the order of commits.
final class Observers: Sendable {
    /// What an observer does with events; neither may block.
    struct Subscriber: Sendable {
        var receive: @Sendable ([QueueEvent]) -> Void = { _ in }
        /// The same, with the actions that the events are about; told of transactions that have collected
        /// them.
        var receiveContents: @Sendable ([QueueEvent], ObservedContents) -> Void = { _, _ in }
        /// Others have committed, what no event tells of in full.
        var othersCommitted: @Sendable () -> Void = {}
        /// Something has changed that no event tells of, about a queue or about all.
        var poke: @Sendable (QueueID?) -> Void = { _ in }
        /// No further event comes.
        let end: @Sendable () -> Void
    }

    private struct State {
        var subscribers: [Int: Subscriber] = [:]
        var lastNumber = 0
        var hasEnded = false
    }

    private let state = Mutex(State())
    let interest: Interest

    init(_ interest: Interest) { self.interest = interest }

    deinit { end() }

    /// Adds an observer, who is told of all that is committed by transactions which begin from now on.
    ///
    /// - Returns: What ends that; it may be called more than once.
    func add(_ subscriber: Subscriber) -> @Sendable () -> Void {
        let number = state.withLock { state -> Int? in
            if state.hasEnded { return nil }
            state.lastNumber += 1
            state.subscribers[state.lastNumber] = subscriber
            return state.lastNumber
        }
        guard let number else {
            subscriber.end()
            return {}
        }
        interest.begin()
        return { [weak self] in self?.remove(number) }
    }

    func publish(_ events: [QueueEvent], _ contents: ObservedContents? = nil) {
        guard !events.isEmpty else { return }
        for subscriber in state.withLock({ Array($0.subscribers.values) }) {
            subscriber.receive(events)
            if let contents { subscriber.receiveContents(events, contents) }
        }
    }

    /// Tells those who ask for the actions of a queue that others have committed, if they have since the last
    /// call.
    func tellCommitOfOthers() {
        guard interest.takeCommitOfOthers() else { return }
        for subscriber in state.withLock({ Array($0.subscribers.values) }) { subscriber.othersCommitted() }
    }

    /// Tells that something about a queue, or about all, may look different now, though nothing has happened
    /// in the file.
    func poke(_ queue: QueueID?) {
        guard interest.isAny else { return }
        for subscriber in state.withLock({ Array($0.subscribers.values) }) { subscriber.poke(queue) }
    }

    /// Ends all observation: the broker is closed.
    func end() {
        let subscribers = state.withLock { state in
            state.hasEnded = true
            defer { state.subscribers = [:] }
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers {
            interest.end()
            subscriber.end()
        }
    }

    private func remove(_ number: Int) {
        let removed = state.withLock { $0.subscribers.removeValue(forKey: number) }
        if removed != nil { interest.end() }
    }
}
