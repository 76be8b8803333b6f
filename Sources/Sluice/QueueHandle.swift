/// One queue as a data structure: what waits in it is added to, looked at and taken out, with a handler that
/// runs it or with none.
///
/// ```swift
/// let uploads = broker.queue("uploads", of: Upload.self)
/// try await uploads.add([Upload(file: "a"), Upload(file: "b")])   // durable when it returns
/// try await uploads.count()                                       // 2
/// if let next = try await uploads.removeNext() {                  // nobody else gets this one
///     do { try await send(next.action) } catch { try await uploads.putBack(next) }
/// }
/// ```
///
/// To a handle the queue is what waits in its order, whatever keeps that waiting: a retry, a closed gate,
/// a hold. What runs has left it, and what ran in a process that has died since is back; what is scheduled
/// for later has not come yet; what has expired is not handed out, nor what stands aside
/// (<doc:Disciplines>). The order is that of the sort keys and then of arrival, and the next is the action
/// that would start next by the queue's discipline: the last where the queue runs its last first, and the
/// first behind its mark in a pass.
///
/// A handle is a name: making one costs nothing and writes nothing, any number may be in use, in several
/// processes too, and beside handlers. Each method is a transaction of its own. It keeps its broker open for
/// as long as it is kept itself. See <doc:QueueHandles>.
public struct QueueHandle<A: Action>: Sendable {
    /// The queue's name.
    public let name: QueueName
    let broker: Broker
}

extension Broker {
    /// A handle on a queue whose actions are of one type.
    ///
    /// - Parameters:
    ///   - name: The queue, not a pattern; it need not exist. It is checked where it is used.
    ///   - type: The type of its actions. One of another kind, and one that does not decode, stays in the
    ///     queue: taking it or looking at it throws ``SluiceError/Code/undecodable``.
    public func queue<A: Action>(_ name: QueueName, of type: A.Type) -> QueueHandle<A> {
        QueueHandle(name: name, broker: self)
    }
}

// MARK: - Adding

extension QueueHandle {
    /// Adds actions at their places in the order, all or none; behind all others, if their sort key is
    /// ``SortKey/arrival``.
    ///
    /// They go to this queue, whatever their ``Action/queue`` says.
    ///
    /// - Returns: The actions' numbers, in the same order.
    /// - Throws: What an enqueue of the broker does, and ``SluiceError/Code/invalidPattern`` for a queue with
    ///   a `*` in its name: that is most likely meant as a pattern, and a handle is on one queue.
    @discardableResult
    public func add(
        _ actions: some Sequence<A>,
        _ options: EnqueueOptions = EnqueueOptions()
    ) async throws -> [ActionID] {
        _ = try pattern()
        let drafts = try actions.map { try broker.drafter.draft($0, in: name, options) }
        return try await broker.store(drafts: drafts)
    }

    /// Adds an action, as several are added.
    ///
    /// - Returns: The action's number, and a way to wait for it.
    @discardableResult
    public func add(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions()
    ) async throws -> EnqueueReceipt {
        EnqueueReceipt(id: try await add(CollectionOfOne(action), options)[0], broker: broker)
    }
}

// MARK: - Taking out

extension QueueHandle {
    /// Takes the next action out of the queue.
    ///
    /// One caller gets it, once: no other, no handler, in no process; and it is gone durably when this
    /// returns. It never takes what runs (G3), but the first behind that. So at a crash of the caller it is
    /// lost: who must not lose it has a handler run it, or looks at it with ``peek()`` and removes it when
    /// all is done.
    ///
    /// The action is decoded in the transaction, so that one that does not decode stays where it is: its
    /// `init(from:)` and the upgraders of its type must not call the broker. What has expired is set aside
    /// on the way.
    ///
    /// - Returns: `nil` when nothing waits.
    /// - Throws: ``SluiceError/Code/undecodable``, and errors of the file; nothing has been taken out then.
    public func removeNext() async throws(SluiceError) -> QueuedAction<A>? {
        try await removeNext(1).first
    }

    /// Takes the next actions out of the queue, in their order, in one transaction; in more where many that
    /// have expired stand between them.
    ///
    /// See ``removeNext()``.
    ///
    /// - Parameter count: The most that are taken; beyond ``maximumRemovalCount`` it counts as that.
    /// - Returns: Fewer when fewer wait, and when one behind them does not decode; it throws when that is
    ///   the first.
    public func removeNext(_ count: Int) async throws(SluiceError) -> [QueuedAction<A>] {
        let limit = min(count, Self.maximumRemovalCount)
        guard limit > 0 else { return [] }
        var taken: [QueuedAction<A>] = []
        while true {
            let taking: Taking<QueuedAction<A>>
            do throws(SluiceError) {
                taking = try await broker.store.takeNext(
                    of: name,
                    limit: limit - taken.count,
                    by: discipline
                ) {
                    [name, reader = broker.reader] in reader.queued(A.self, from: $0, in: name)
                }
            } catch {
                // What has been taken out is the caller's.
                if taken.isEmpty { throw error }
                return taken
            }
            taken += taking.outputs
            if taken.isEmpty, let refusal = taking.refusal { throw refusal }
            let isMore = taking.isUnfinished && taking.refusal == nil && taken.count < limit
            if !isMore { return taken }
        }
    }

    /// The most actions that one call takes out: 1,000.
    ///
    /// It bounds the transaction, and so how long others wait.
    public static var maximumRemovalCount: Int { 1_000 }

    /// Puts an action that was taken out back, in front of all that waits.
    ///
    /// It is the same action: its number, its idempotency key, tag, gate, groups, trace and end are what they
    /// were; its attempts begin anew, and of a row of the application's that it belonged to it is free. It
    /// keeps its sort key where that puts it first, as it does when nothing has come that sorts before it.
    /// Otherwise it gets the key of the first, if its own number is smaller, and else the next smaller one,
    /// as with ``Broker/moveToFront(_:)``. The depth that the queue's options allow does not hold it back.
    ///
    /// It is the first of what waits. What runs, and is tried again later, goes by its own key.
    ///
    /// - Returns: Its number: another one, with another idempotency key, if its own is in use, as in another
    ///   file. An action that is back already is left as it is.
    /// - Throws: ``SluiceError/Code/noSmallerSortKey``, ``SluiceError/Code/sortKeyMismatch`` when the queue
    ///   has taken another type of sort key since, ``SluiceError/Code/invalidQueueName``.
    @discardableResult
    public func putBack(_ action: QueuedAction<A>) async throws(SluiceError) -> ActionID {
        try await putBack(CollectionOfOne(action))[0]
    }

    /// Puts actions that were taken out back, all or none, in front of all that waits and in their order.
    ///
    /// As one action is.
    @discardableResult
    public func putBack(
        _ actions: some Sequence<QueuedAction<A>>
    ) async throws(SluiceError) -> [ActionID] {
        try name.validate()
        let stored = actions.map(\.stored)
        guard !stored.isEmpty else { return [] }
        let ids = try await broker.store.putBack(stored, to: name, by: discipline)
        if let end = stored.compactMap(\.expiresAt).min() { broker.scheduleSweep(at: end) }
        return ids
    }

    /// Cancels an action of the queue.
    ///
    /// See ``Broker/cancel(_:)``.
    ///
    /// - Returns: ``Cancellation/tooLate`` also for an action of another queue.
    @discardableResult
    public func cancel(_ action: ActionID) async throws(SluiceError) -> Cancellation {
        broker.cancelled(action, try await broker.store.cancel(action, in: name))
    }

    /// Takes out all that waits and all that is scheduled for later; what runs goes on.
    ///
    /// Whatever its kind. What comes meanwhile is not meant. It goes in batches of several hundred, a
    /// transaction each. ``Broker/cancel(queues:)`` also cancels what runs.
    ///
    /// - Returns: How many actions have gone.
    @discardableResult
    public func clear() async throws(SluiceError) -> Int {
        let last = try await broker.store.lastActionID()
        var count = 0
        while true {
            let batch = try await broker.store.clear(name, through: last)
            count += batch
            guard batch == HandleOperations.clearBatchSize else { break }
        }
        broker.scheduler.hasten(.admitScheduled)
        return count
    }
}

// MARK: - Looking

extension QueueHandle {
    /// The action that ``removeNext()`` would take out; it stays.
    ///
    /// Another caller, or a handler, may have it a moment later.
    ///
    /// - Returns: `nil` when nothing waits.
    /// - Throws: ``SluiceError/Code/undecodable``, and errors of the file.
    public func peek() async throws(SluiceError) -> QueuedAction<A>? {
        let next = try await broker.store.waiting(in: name, from: .next, limit: 1, by: discipline).first
        return try next.map { stored throws(SluiceError) in
            try broker.reader.queued(A.self, from: stored, in: name).get()
        }
    }

    /// What the broker has been told of the queue's discipline.
    var discipline: QueueDiscipline? { broker.routes.admission.queues.saidDiscipline(of: name) }

    /// How many actions wait, whatever their kind.
    ///
    /// They are counted by a walk along the queue, so that it takes the longer the more there are.
    public func count() async throws(SluiceError) -> Int {
        try await broker.store.waitingCount(in: name)
    }

    /// What waits, in its order, read a page at a time; the last first in a queue that runs its last first.
    ///
    /// - Parameter pageSize: How many actions are read and kept at once; at least 1.
    public func contents(pageSize: Int = 100) -> QueueContents<A> {
        QueueContents(queue: name, broker: broker, pageSize: max(pageSize, 1))
    }
}
