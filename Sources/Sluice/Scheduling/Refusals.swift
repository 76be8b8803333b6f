internal import Synchronization

/// Remembers which writes of queues the file refuses, and the errors, which only this process knows.
final class Refusals: Sendable {
    enum Write: Hashable, Sendable {
        case claim
        /// The outcome of a run, by its claim.
        case outcome(Int64)
        /// The place of a due scheduled action.
        case place(ActionID)
    }

    struct Refusal: Sendable {
        let error: SluiceError
        let since: Timestamp
    }

    /// How long a refusal that concerns the whole file, such as a full disk, is not logged again.
    static let silence: Duration = .seconds(60)
    /// When such refusals were last logged, by the clock's uptime.
    private let logged = Mutex<[SluiceError.Code: Duration]>([:])

    private typealias Queues = [QueueID: [Write: Refusal]]

    private let queues = Mutex<Queues>([:])
    /// Whether there are none; read for each write of a queue, and usually `true`.
    private let isEmpty = Atomic(true)
    /// Whether another connection has kept the write lock for longer than the lock timeout.
    private let isLocked = Atomic(false)

    /// Records that a write was refused, and returns whether it was not refused before.
    @discardableResult
    func note(_ write: Write, of queue: QueueID, _ error: SluiceError, at now: Timestamp) -> Bool {
        guard !error.endsBroker else { return false }
        // The writer knows who has the lock, for the whole file.
        if error.code == .databaseLocked { return !isLocked.exchange(true, ordering: .relaxed) }
        return change { queues in
            let known = queues[queue]?[write]
            queues[queue, default: [:]][write] = Refusal(error: error, since: known?.since ?? now)
            return known == nil
        }
    }

    /// Returns whether a new refusal is to be logged; a disk that is full now and then is not, each time.
    func isToBeLogged(_ error: SluiceError, at uptime: Duration) -> Bool {
        if error.isOfRows { return true }
        return logged.withLock { logged in
            if let last = logged[error.code], uptime - last < Self.silence { return false }
            logged[error.code] = uptime
            return true
        }
    }

    /// Records that a write succeeded, or is dropped.
    func clear(_ write: Write, of queue: QueueID) {
        if isLocked.load(ordering: .relaxed) { isLocked.store(false, ordering: .relaxed) }
        guard !isEmpty.load(ordering: .relaxed) else { return }
        change { Self.remove(write, of: queue, from: &$0) }
    }

    /// Records all due scheduled actions without a place, and returns the queues for which that is a change.
    func keepPlaces(_ unplaced: [UnplacedAction], at now: Timestamp) -> Set<QueueID> {
        guard !unplaced.isEmpty || !isEmpty.load(ordering: .relaxed) else { return [] }
        let actions = Set(unplaced.map(\.action))
        var changed: Set<QueueID> = []
        change { queues in
            for (queue, refusals) in queues {
                for case .place(let action) in refusals.keys where !actions.contains(action) {
                    Self.remove(.place(action), of: queue, from: &queues)
                    changed.insert(queue)
                }
            }
            for one in unplaced where queues[one.queue]?[.place(one.action)] == nil {
                queues[one.queue, default: [:]][.place(one.action)] = Refusal(error: one.error, since: now)
                changed.insert(one.queue)
            }
        }
        return changed
    }

    func clear() { change { $0 = [:] } }

    /// Returns the longest-lasting refusal of a queue.
    func refusal(of queue: QueueID) -> Refusal? {
        guard !isEmpty.load(ordering: .relaxed) else { return nil }
        return queues.withLock { $0[queue]?.values.min { $0.since < $1.since } }
    }

    private static func remove(_ write: Write, of queue: QueueID, from queues: inout Queues) {
        queues[queue]?[write] = nil
        if queues[queue]?.isEmpty == true { queues[queue] = nil }
    }

    private func change<Output: Sendable>(_ body: (inout Queues) -> Output) -> Output {
        queues.withLock { queues in
            defer { isEmpty.store(queues.isEmpty, ordering: .relaxed) }
            return body(&queues)
        }
    }
}
