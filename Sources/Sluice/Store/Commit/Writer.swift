internal import DequeModule
internal import Synchronization

/// Accepts the writes of a file from any thread, and commits them in groups.
///
/// A caller that finds the writer free commits its own write, on its own thread. Writes that arrive during
/// the commit form the next group, which the writer's own thread commits. So a single caller needs no change
/// of threads, and many callers share a commit. Only the leading thread uses the connection.
///
/// On a busy processor no thread may submit writes during a commit, so that each caller would commit alone:
/// ``Write/commitsOnWriterThread`` leaves a write to the writer's thread. If a sync is slow, a group
/// is gathered first (``Gathering``). If a write fails, each member of its group runs in a transaction of
/// its own, so that only the caller at fault gets the error (G14).
package final class Writer: Sendable {
    /// The most writes in one transaction: it bounds how long a later one waits.
    static let groupLimit = 1_024

    private struct Waiting {
        var writes: Deque<Write> = []
        /// How many of them need a transaction of their own.
        var aloneCount = 0
        var gathering = Gathering()
        var hasLeader = false
        var isClosed = false
        /// Whether nothing is committed, and the connection closes as soon as no thread leads.
        var isSuspended = false
        /// Called when no thread leads any more, and the writer is closed or suspended.
        var onRest: [@Sendable () -> Void] = []

        /// Makes the caller the leader, unless another thread leads.
        mutating func lead() -> Bool {
            defer { hasLeader = true }
            return !hasLeader
        }

        /// Returns how many next writes form a group; one that is alone does so only as the first in line.
        mutating func takeAlone(within count: Int) -> Int {
            guard let index = writes.prefix(count).firstIndex(where: \.isAlone) else { return count }
            guard index == writes.startIndex else { return index - writes.startIndex }
            aloneCount -= 1
            return 1
        }
    }

    private let waiting = Mutex(Waiting())
    private let queue: any WorkQueue
    private let place: any WorkPlace
    private let callersLead: Bool
    /// Signalled when all expected writes of a group have arrived.
    private let gathered: any WorkSignal
    /// Confined to the leader: `Waiting.hasLeader` is the lock.
    private nonisolated(unsafe) var committer: GroupCommitter?
    private let durability: Durability
    let trouble: WriterTrouble
    private let check: FileCheck
    private let restTimer = Mutex<(any WorkTimer)?>(nil)
    /// Why every write is refused, in a role that writes nothing.
    private let refusal: SluiceError?

    /// - Parameter committer: `nil` in a role that writes nothing, whose writes fail with `refusal`.
    init(
        _ committer: GroupCommitter? = nil,
        refusing refusal: SluiceError? = nil,
        _ check: FileCheck,
        _ engine: EngineContext
    ) {
        (self.committer, self.refusal, self.check) = (committer, refusal, check)
        queue = engine.queue("sluice.writer", isUrgent: true)
        (place, gathered) = (engine.place, engine.place.signal())
        callersLead = !engine.isNamed
        durability = committer?.durability ?? .standard
        trouble = committer?.trouble ?? WriterTrouble()
        committer?.walGuard?.onHold = { [weak self] in self?.restLater() }
    }

    func ensureWritable() throws(SluiceError) { if let refusal { throw refusal } }

    var isForked: Bool { check.isForked }

    /// The writer's current work; it is led while a group commits or waits for a lock.
    var load: (waiting: Int, isLed: Bool, isClosed: Bool, isSuspended: Bool) {
        waiting.withLock { ($0.writes.count, $0.hasLeader, $0.isClosed, $0.isSuspended) }
    }

    /// Accepts a write and calls its completion after the commit, on some thread.
    ///
    /// It may commit on the calling thread before it returns, but never if it is called from a completion.
    func submit(_ write: Write) {
        enum Next { case lead, gather, completeGathering, follow, refuse }
        if let error = check.refusal ?? refusal { return write.complete(failing: error) }
        let next: Next = waiting.withLock { waiting in
            if waiting.isClosed { return .refuse }
            waiting.writes.append(write)
            if write.isAlone { waiting.aloneCount += 1 }
            let isComplete = durability.syncs(write.sync) && waiting.gathering.noteArrival()
            if waiting.hasLeader { return isComplete ? .completeGathering : .follow }
            if waiting.isSuspended { return .follow }
            waiting.hasLeader = true
            // A write with its own transaction runs code of the application: not on the thread of its caller.
            let isForQueue = !callersLead || waiting.gathering.isWorthwhile || waiting.aloneCount > 0
            return isForQueue || write.commitsOnWriterThread ? .gather : .lead
        }
        switch next {
        case .lead: leadOnce()
        case .gather: queue.add { self.leadAll() }
        case .completeGathering: gathered.send()
        case .follow: break
        case .refuse: write.complete(failing: Self.closed)
        }
    }

    /// Withdraws a write, whose completion is then not called; returns `false` if its group has begun.
    func withdraw(_ write: Write) -> Bool {
        waiting.withLock { waiting in
            guard let index = waiting.writes.firstIndex(where: { $0 === write }) else { return false }
            waiting.writes.remove(at: index)
            if write.isAlone { waiting.aloneCount -= 1 }
            if durability.syncs(write.sync) { waiting.gathering.left() }
            return true
        }
    }

    /// Refuses all further writes, commits waiting ones, and closes the connection.
    func close() async {
        // The leader may be a thread that a child of `fork` does not have.
        if check.isForked { return }
        await withCheckedContinuation { continuation in
            let isAlone = waiting.withLock { waiting in
                waiting.isClosed = true
                waiting.isSuspended = false
                waiting.onRest.append { continuation.resume() }
                return waiting.lead()
            }
            if isAlone { queue.add { self.leadAll() } }
        }
    }

    /// Commits one group on the caller's thread, and leaves the rest to the writer's.
    private func leadOnce() {
        guard let committer else { return leadAll() }
        let group = nextGroup()
        if !committer.commit(group, waitsForLock: false) {
            // Another connection has the lock: wait on the writer's thread, not on the caller's.
            queue.add {
                _ = self.committer?.commit(group, waitsForLock: true)
                self.leadAll()
            }
        } else if committer.isUpkeepDue || !endLeadingIfIdle() {
            queue.add { self.leadAll() }
        }
    }

    /// Commits groups until nothing waits, then closes the connection if requested.
    private func leadAll() {
        repeat {
            if isUpkeepDue { committer?.performUpkeep() }
            gather()
            let group = nextGroup()
            guard let committer else {
                for write in group { write.complete(failing: Self.closed) }
                continue
            }
            let count = syncedCount(of: group)
            _ = committer.commit(group, waitsForLock: true)
            let duration = committer.lastCommit
            if count > 0 { waiting.withLock { $0.gathering.committed(count, in: duration) } }
        } while isUpkeepDue || !endLeadingIfIdle()
    }

    /// Whether there is work between two groups; a suspension does not wait for it.
    private var isUpkeepDue: Bool { committer?.isUpkeepDue == true && !waiting.withLock { $0.isSuspended } }

    private func endLeadingIfIdle() -> Bool {
        enum Next {
            case goOn, close, suspend
            case end([@Sendable () -> Void])
        }
        while true {
            // Closing takes time: it is done as the leader, and not under the lock.
            let next: Next = waiting.withLock { waiting in
                guard waiting.writes.isEmpty || waiting.isSuspended else { return .goOn }
                if waiting.isClosed, committer != nil { return .close }
                if waiting.isSuspended, committer?.isSuspended == false { return .suspend }
                waiting.hasLeader = false
                defer { waiting.onRest = [] }
                return .end(waiting.onRest)
            }
            switch next {
            case .goOn: return false
            case .close:
                committer?.close()
                committer = nil
            case .suspend: committer?.suspend()
            case .end(let onRest):
                for atRest in onRest { atRest() }
                return true
            }
        }
    }

    private func nextGroup() -> [Write] {
        waiting.withLock { waiting in
            guard !waiting.isSuspended else { return [] }
            var count = min(waiting.writes.count, Self.groupLimit)
            if waiting.aloneCount > 0 { count = waiting.takeAlone(within: count) }
            let group = Array(waiting.writes.prefix(count))
            waiting.writes.removeFirst(count)
            waiting.gathering.took(syncedCount(of: group))
            return group
        }
    }

    /// Waits, on the writer's own thread, for writes that are likely to share a sync with the present ones.
    private func gather() {
        guard let patience = waiting.withLock({ $0.gathering.begin() }) else { return }
        let hasCome = gathered.wait(atMost: patience)
        let isSignalled = waiting.withLock { $0.gathering.end() }
        // The last write arrived after the timeout: its signal must not end a later wait.
        if isSignalled && !hasCome { gathered.wait() }
    }

    private func syncedCount(of group: [Write]) -> Int {
        group.count { durability.syncs($0.sync) }
    }

    private static let closed = SluiceError(.closed, "the broker was closed")

    /// Ends the current group, at the latest when its lock times out, and closes the connection for a while.
    func suspend() async {
        await withCheckedContinuation { continuation in
            let leads = waiting.withLock { waiting -> Bool? in
                if waiting.isClosed || (waiting.isSuspended && !waiting.hasLeader) { return nil }
                waiting.isSuspended = true
                waiting.onRest.append { continuation.resume() }
                return waiting.lead()
            }
            guard let leads else { return continuation.resume() }
            if leads { queue.add { if !self.endLeadingIfIdle() { self.leadAll() } } }
        }
    }

    /// Opens the file again with `reopen`; if it throws, writes wait, unless none can ever succeed.
    func resume(
        _ reopen: @escaping @Sendable (GroupCommitter) throws(SluiceError) -> GroupCommitter
    ) async throws(SluiceError) {
        try await queue.run { self.resumed(reopen) }.get()
    }

    private func resumed(
        _ reopen: (GroupCommitter) throws(SluiceError) -> GroupCommitter
    ) -> Result<Void, SluiceError> {
        let isDue = waiting.withLock { $0.isSuspended && !$0.isClosed && $0.lead() }
        guard isDue else { return .success(()) }
        let result = Result { () throws(SluiceError) in committer = try committer.map(reopen) }
        // Waiting writes fail if they can never succeed; otherwise the writer remains suspended.
        let hasFailed = (try? result.get()) == nil
        waiting.withLock { $0.isSuspended = hasFailed && check.refusal == nil && !$0.isClosed }
        // Not here: it may continue as long as writes arrive.
        queue.add { if !self.endLeadingIfIdle() { self.leadAll() } }
        return result
    }

    /// Schedules ``rest()`` by the machine's clock, like waits for locks: it matters to other processes.
    private func restLater() {
        let time = place.now + .seconds(WALGuard.restInterval)
        restTimer.withLock { timer in
            let set = timer ?? queue.timer { [weak self] in if let self, rest() { restLater() } }
            timer = set
            set.set(time)
        }
    }

    /// Releases the pin kept for successive commits, if there was none; returns whether to call it again.
    func rest() -> Bool {
        let isFree = waiting.withLock { waiting -> Bool? in
            // A resumed writer starts again.
            waiting.isClosed || waiting.isSuspended ? nil : waiting.lead()
        }
        guard let isFree else { return false }
        guard isFree, let committer else { return true }
        let isToBeCalled = committer.rest()
        if !endLeadingIfIdle() { queue.add { self.leadAll() } }
        return isToBeCalled
    }
}
