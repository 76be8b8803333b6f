#if Web
internal import Foundation
internal import Sluice
internal import Synchronization

/// The statuses of all queues with work, in memory, as the broker's observation reports them.
///
/// A page of a list is a pass over them; the file is not read for it. They take about a kilobyte a queue.
final class Board: Sendable {
    /// A queue of a list; an object, as a pass over all queues would copy each value.
    final class Lane: Sendable {
        let status: QueueStatus
        /// When its oldest action was enqueued, in microseconds since 1970.
        let oldest: Int64
        let state: QueueStatus.State
        let trouble: QueueTrouble

        init(_ status: QueueStatus) {
            self.status = status
            oldest = status.oldestEnqueuedAt.map(Board.microseconds) ?? .max
            (state, trouble) = (status.state, status.trouble)
        }
    }

    /// A part of a list.
    struct Extract: Sendable {
        /// The queues of this page, in order.
        var lanes: [Lane] = []
        /// How many queues match in all.
        var count = 0
        /// The place after which the next page begins.
        var next: QueueSorting.Place?
    }

    /// Sums over all queues.
    struct Totals: Sendable {
        var states: [QueueStatus.State: Int] = [:]
        var actionCount = 0
        var queueCount = 0
        /// Raised with each change.
        var version = 0
        /// Whether the first read has ended.
        var isComplete = false
        /// Why the statuses may be old.
        var error: String?
    }

    fileprivate struct Memory: Sendable {
        var lanes: [QueueName: Lane] = [:]
        /// How many heads are of each kind.
        var kinds: [String: Int] = [:]
        var totals = Totals()
    }

    private let memory = Mutex(Memory())

    var totals: Totals { memory.withLock { $0.totals } }

    /// Observes the queues until the task is cancelled, or the broker is closed and no other comes.
    func follow(_ store: CurrentStore, _ options: OperatorPageOptions) async {
        while !Task.isCancelled {
            await follow(store.broker, options.clock) { store.loss != nil }
            guard options.reopen != nil, !Task.isCancelled else { return }
            do { try await options.clock.sleep(for: .milliseconds(250)) } catch { return }
        }
    }

    /// Observes the queues of one broker until it is closed or given up.
    func follow(
        _ broker: Broker,
        _ clock: any BrokerClock,
        isLost: () -> Bool = { false }
    ) async {
        var position: StatusPosition?
        while !Task.isCancelled, !isLost() {
            do {
                for try await update in broker.observe(statuses: .all, after: position) {
                    apply(update.states, gone: update.gone, isSnapshot: update.isSnapshot)
                    position = update.position
                    // All changes until then become one update.
                    try await clock.sleep(for: .milliseconds(250))
                }
                return fail(Task.isCancelled ? nil : "the broker is closed")
            } catch is CancellationError {
                return
            } catch {
                fail("\(error)")
                try? await clock.sleep(for: .seconds(1))
            }
        }
    }

    private func apply(_ states: [QueueStatus], gone: [QueueStatus], isSnapshot: Bool) {
        memory.withLock { memory in
            if isSnapshot { memory = Memory(totals: Totals(version: memory.totals.version)) }
            for status in gone { memory.replace(status.queue, by: nil) }
            for status in states { memory.replace(status.queue, by: Lane(status)) }
            memory.totals.version += 1
            memory.totals.isComplete = true
            memory.totals.error = nil
        }
    }

    private func fail(_ error: String?) {
        memory.withLock { memory in
            memory.totals.error = error
            memory.totals.version += 1
        }
    }

    /// Forgets all queues: those of another file are read.
    func forget() {
        memory.withLock { $0 = Memory(totals: Totals(version: $0.totals.version + 1)) }
    }

    /// Waits until the first read has ended, a few seconds at most.
    func waitForFirstRead(_ clock: any BrokerClock) async throws {
        try await clock.wait(atMost: .seconds(3)) { totals.isComplete || totals.error != nil }
    }

    /// Returns the first queues of a list after a place.
    func extract(
        _ filter: QueueFilter,
        _ sorting: QueueSorting,
        after start: QueueSorting.Place? = nil,
        limit: Int
    ) -> Extract {
        // A copy would make the next update copy all queues.
        memory.withLock { $0.extract(filter, sorting, after: start, limit: limit) }
    }

    /// Returns queues whose reason should have ended by itself, and of which nothing has been read since.
    func overdue(at now: Date, limit: Int) -> [QueueName] {
        memory.withLock { memory in
            var found: [QueueName] = []
            for lane in memory.lanes.values {
                guard lane.trouble == .waits || lane.trouble == .scheduled,
                    let until = lane.status.blockedUntil, until < now
                else { continue }
                found.append(lane.status.queue)
                if found.count == limit { break }
            }
            return found
        }
    }

    /// Reads all queues once more, after a change that is no commit: a process that ran them has died.
    func reread(_ broker: Broker) async throws {
        let before = memory.withLock { $0.lanes }
        patch(before, try await broker.statuses(matching: .all, in: nil, limit: .max))
    }

    /// Reads some queues once more.
    func reread(_ queues: [QueueName], _ broker: Broker) async throws {
        for queue in queues {
            // Not all lanes: they would be copied.
            guard let before = memory.withLock({ $0.lanes[queue] }) else { continue }
            patch([queue: before], [try await broker.status(of: queue)])
        }
    }

    /// Replaces queues of which the observation knows, and has reported nothing since.
    ///
    /// It would not report the end of others, and does not repeat what it has reported.
    private func patch(_ before: [QueueName: Lane], _ states: [QueueStatus]) {
        memory.withLock { memory in
            for status in states {
                guard let lane = before[status.queue], memory.lanes[status.queue] === lane else { continue }
                memory.replace(status.queue, by: status.depth > 0 ? Lane(status) : nil)
            }
            memory.totals.version += 1
        }
    }

    /// Returns the status of a queue with work.
    func status(of queue: QueueName) -> QueueStatus? { memory.withLock { $0.lanes[queue]?.status } }

    /// Returns the kinds of heads, for the filter: a hundred at most.
    func kinds() -> [String] { memory.withLock { Array($0.kinds.keys.sorted().prefix(100)) } }

    /// The age of the oldest action.
    func oldestAge(at now: Date) -> Duration? {
        let oldest = memory.withLock { $0.lanes.values.lazy.map(\.oldest).min() }
        return oldest.map { .microseconds(max(Self.microseconds(now) - $0, 0)) }
    }

    /// Returns queues that run or could run and have an action that does not run, the oldest first.
    func moving(limit: Int) -> [Lane] {
        memory.withLock { memory in
            var found: [Lane] = []
            for lane in memory.lanes.values
            where lane.trouble == .moves && (lane.state != .running || lane.status.depth > 1) {
                if found.count == limit, let last = found.last, lane.oldest >= last.oldest { continue }
                found.insert(lane, at: found.firstIndex { $0.oldest > lane.oldest } ?? found.endIndex)
                if found.count > limit { found.removeLast() }
            }
            return found
        }
    }

    static func microseconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970 * 1_000_000) }
}

extension Board.Memory {
    fileprivate func extract(
        _ filter: QueueFilter,
        _ sorting: QueueSorting,
        after start: QueueSorting.Place?,
        limit: Int
    ) -> Board.Extract {
        var extract = Board.Extract()
        var places: [QueueSorting.Place] = []
        for lane in lanes.values where filter.matches(lane) {
            extract.count += 1
            let place = sorting.place(of: lane)
            if let start, place <= start { continue }
            if places.count > limit, let last = places.last, place > last { continue }
            let index = places.firstIndex { $0 > place } ?? places.endIndex
            places.insert(place, at: index)
            extract.lanes.insert(lane, at: index)
            if places.count > limit + 1 {
                places.removeLast()
                extract.lanes.removeLast()
            }
        }
        if places.count > limit {
            extract.next = places[limit - 1]
            extract.lanes.removeLast()
        }
        return extract
    }

    fileprivate mutating func replace(_ queue: QueueName, by lane: Board.Lane?) {
        let old = lanes.updateValue(lane, forKey: queue)
        for (lane, sign) in [(old, -1), (lane, 1)] {
            guard let lane else { continue }
            totals.states[lane.state, default: 0] += sign
            totals.actionCount += sign * lane.status.depth
            totals.queueCount += sign
            guard let kind = lane.status.headKind else { continue }
            kinds[kind, default: 0] += sign
            if kinds[kind] == 0 { kinds[kind] = nil }
        }
    }
}

extension [QueueName: Board.Lane] {
    /// Sets or removes a value, and returns the old one.
    fileprivate mutating func updateValue(_ value: Board.Lane?, forKey key: QueueName) -> Board.Lane? {
        guard let value else { return removeValue(forKey: key) }
        return updateValue(value, forKey: key)
    }
}
#endif
