internal import Synchronization

/// The observers of a broker's events, called on the committing thread in the order of commits.
package final class Observers: Sendable {
    /// The callbacks of an observer, which must not block.
    struct Subscriber: Sendable {
        var receive: @Sendable ([QueueEvent]) -> Void = { _ in }
        /// Receives events with the actions that they are about, for transactions that have collected them.
        var receiveContents: @Sendable ([QueueEvent], ObservedContents) -> Void = { _, _ in }
        /// Whether the file is polled for commits of others, which events do not describe in full.
        var asksForOthers = false
        /// Called after commits of others.
        var othersCommitted: @Sendable () -> Void = {}
        /// Called after a change of one queue or of all that has no event, such as a commit of others.
        var poke: @Sendable (QueueID?) -> Void = { _ in }
        /// Called instead after commits of others that no event describes.
        var pokeAfterOthers: (@Sendable () -> Void)?
        let end: @Sendable () -> Void
    }

    private struct State {
        var subscribers: [Int: Subscriber] = [:]
        var lastNumber = 0
        var hasEnded = false
        /// Whether all states may differ by a change without an event, and when that was last said.
        var mayDiffer = false
        var lastSaid: Duration?
    }

    private let state = Mutex(State())
    let interest: Interest

    package init(_ interest: Interest) { self.interest = interest }
    deinit { end() }

    /// Adds an observer for transactions that begin from now on; returns a function that removes it.
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
        if subscriber.asksForOthers { interest.beginCommitsOfOthers() }
        interest.begin()
        return { [weak self] in self?.remove(number) }
    }

    private var subscribers: [Subscriber] { state.withLock { Array($0.subscribers.values) } }

    package func publish(_ events: [QueueEvent]) { publish(events, nil) }

    func publish(_ events: [QueueEvent], _ contents: ObservedContents?) {
        guard !events.isEmpty else { return }
        for subscriber in subscribers {
            subscriber.receive(events)
            if let contents { subscriber.receiveContents(events, contents) }
        }
    }

    /// Notifies observers of commits of others, if there were any since the last call.
    ///
    /// Observers of states then read all of them, if no event describes the change, at most once in an
    /// interval. `mayDiffer` is whether any connection has committed of which this broker knows nothing, as
    /// it does not run; `nil`: perhaps, but not since its first read, which all observers of states wait for.
    func tellCommitOfOthers(mayDiffer: Bool? = false, at uptime: Duration, every interval: Duration) {
        let haveCommitted = interest.takeCommitOfOthers()
        let isUntold = interest.takeUntoldChange() || mayDiffer ?? false
        let isDue = state.withLock { state -> Bool in
            if isUntold { state.mayDiffer = true }
            let isTooSoon = state.lastSaid.map { uptime - $0 < interval } ?? false
            guard state.mayDiffer, !isTooSoon else { return false }
            (state.mayDiffer, state.lastSaid) = (false, uptime)
            return true
        }
        for subscriber in subscribers {
            if haveCommitted { subscriber.othersCommitted() }
            guard subscriber.asksForOthers ? isDue : mayDiffer ?? true else { continue }
            if let poke = subscriber.pokeAfterOthers { poke() } else { subscriber.poke(nil) }
        }
    }

    /// Notifies observers that the status of a queue, or of all, may differ, though the file has not changed.
    package func poke(_ queue: QueueID?) {
        guard interest.isAny else { return }
        for subscriber in subscribers { subscriber.poke(queue) }
    }

    package func end() {
        let subscribers = state.withLock { state in
            state.hasEnded = true
            defer { state.subscribers = [:] }
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers {
            ended(subscriber)
            subscriber.end()
        }
    }

    private func remove(_ number: Int) {
        if let subscriber = state.withLock({ $0.subscribers.removeValue(forKey: number) }) {
            ended(subscriber)
        }
    }

    private func ended(_ subscriber: Subscriber) {
        interest.end()
        if subscriber.asksForOthers { interest.endCommitsOfOthers() }
    }
}
