/// A queue as a data structure: its waiting actions are added, read and taken out, with or without a handler.
///
/// ```swift
/// let uploads = broker.queue("uploads", of: Upload.self)
/// try await uploads.add([Upload(file: "a"), Upload(file: "b")])   // durable when it returns
/// try await uploads.count()                                       // 2
/// if let next = try await uploads.removeNext() {                  // no other caller gets this one
///     do { try await send(next.action) } catch { try await uploads.putBack(next) }
/// }
/// ```
///
/// A handle sees the actions that wait, whatever they wait for: a retry, a closed gate, a hold. Not included
/// are running actions, except those of a process that has died, and actions that are scheduled for later,
/// expired, or deferred (<doc:Disciplines>). The next action is that which would start next.
///
/// Any number of handles may be in use, in several processes and beside handlers. Each method is a
/// transaction of its own. A handle keeps its broker open. See <doc:QueueHandles>.
public struct QueueHandle<A: Action>: Sendable {
    /// The queue's name.
    public let name: QueueName
    let broker: Broker

    /// Adds actions to this queue, whatever they say, by their sort keys, all or none; returns their numbers.
    ///
    /// - Throws: As an enqueue of the broker, and ``SluiceError/Code/invalidPattern`` for a name with a `*`.
    @discardableResult public func add(
        _ actions: some Sequence<A>,
        _ options: EnqueueOptions = EnqueueOptions()
    ) async throws -> [ActionID] {
        _ = try pattern()
        let drafts = try actions.map { try broker.drafter.draft($0, in: name, options) }
        return try await broker.enqueue(drafts: drafts)
    }

    /// Adds an action, under the same rules as several.
    @discardableResult public func add(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions()
    ) async throws -> EnqueueReceipt {
        EnqueueReceipt(id: try await add(CollectionOfOne(action), options)[0], broker: broker)
    }

    /// Takes the next action out of the queue; `nil` when nothing waits.
    ///
    /// No other caller and no handler gets it, in any process. The removal is durable when the call returns,
    /// so a crash of the caller loses the action: to prevent that, use a handler, or ``peek()`` and remove
    /// the action when its work is done. A running action is never taken (G3), but the first one after it.
    ///
    /// The action is decoded in the transaction, so that an undecodable one stays in the queue: its
    /// `init(from:)` and upgraders must not call the broker. Expired actions before it become dead letters.
    ///
    /// - Throws: ``SluiceError/Code/undecodable``, and errors of the file; then nothing has been taken out.
    public func removeNext() async throws(SluiceError) -> QueuedAction<A>? { try await removeNext(1).first }

    /// Takes the next actions out of the queue, at most ``maximumRemovalCount``, in their order.
    ///
    /// It is one transaction, or several for many expired actions: see ``removeNext()``. It returns fewer if
    /// fewer wait, or a later one does not decode; if the first does not, it throws.
    public func removeNext(_ count: Int) async throws(SluiceError) -> [QueuedAction<A>] {
        let cap = min(count, Self.maximumRemovalCount)
        guard cap > 0 else { return [] }
        var taken: [QueuedAction<A>] = []
        while true {
            let taking: Taking<QueuedAction<A>>
            do throws(SluiceError) {
                taking = try await engine.store.takeNext(
                    of: name,
                    limit: cap - taken.count,
                    by: discipline
                ) {
                    [name, reader = broker.book.reader] in reader.queued(A.self, from: $0, in: name)
                }
            } catch {
                // The caller owns the actions that have been taken out.
                if taken.isEmpty { throw error }
                return taken
            }
            taken += taking.outputs
            if taken.isEmpty, let refusal = taking.refusal { throw refusal }
            let isMore = taking.isUnfinished && taking.refusal == nil && taken.count < cap
            if !isMore { return taken }
        }
    }

    /// The most actions that one call takes out: 1,000, which bounds the wait of others for the transaction.
    public static var maximumRemovalCount: Int { 1_000 }

    /// Puts an action that was taken out back, in front of all waiting actions.
    ///
    /// Its number, idempotency key, tag, gate, groups, trace and expiry are unchanged; its attempts restart.
    /// If an action sorts before it, it gets another sort key (<doc:QueueHandles>); a running action that is
    /// tried again keeps its place by its own key. The queue's depth limit does not apply. If the action is
    /// already back, it is unchanged.
    ///
    /// - Returns: Its number; a new one, with a new idempotency key, if its own is in use.
    /// - Throws: ``SluiceError/Code/noSmallerSortKey``, ``SluiceError/Code/invalidQueueName``, and
    ///   ``SluiceError/Code/sortKeyMismatch`` when the queue now has another type of sort key.
    @discardableResult public func putBack(_ action: QueuedAction<A>) async throws(SluiceError) -> ActionID {
        try await putBack(CollectionOfOne(action))[0]
    }

    /// Puts actions that were taken out back, all or none, in their order, under the rules for one.
    @discardableResult
    public func putBack(_ actions: some Sequence<QueuedAction<A>>) async throws(SluiceError) -> [ActionID] {
        try name.validate()
        let stored = actions.map(\.stored)
        guard !stored.isEmpty else { return [] }
        let ids = try await engine.store.putBack(
            stored,
            to: name,
            by: discipline
        )
        if let end = stored.compactMap(\.expiresAt).min() { broker.fileEngine.scheduleSweep(at: end) }
        return ids
    }

    /// Cancels an action of the queue, as ``Broker/cancel(_:)``; for one of another queue it is too late.
    @discardableResult public func cancel(_ action: ActionID) async throws(SluiceError) -> Cancellation {
        let change = try await engine.store.cancel(action, in: name)
        return Cancellation(try engine.cancelled(action, change).outcome)
    }

    /// Cancels the queue's actions that have a tag, as ``Broker/cancel(tag:)``; those of other queues stay.
    @discardableResult
    public func cancel(tag: String) async throws(SluiceError) -> CancellationCounts {
        try EnqueueOptions.validate(tag: tag)
        return CancellationCounts(try await engine.cancel(.tag(tag, in: name)))
    }

    /// Removes all waiting and scheduled actions of any kind, and returns how many; running ones continue.
    ///
    /// Actions enqueued during the call are not removed. Several hundred at a time are a transaction.
    @discardableResult public func clear() async throws(SluiceError) -> Int {
        let last = try await engine.store.lastActionID()
        var (count, batch) = (0, 0)
        repeat {
            batch = try await engine.store.clear(name, through: last)
            count += batch
        } while batch == HandleOperations.clearBatchSize
        broker.fileEngine.scheduler.hasten(.admitScheduled)
        return count
    }

    /// Returns the action that ``removeNext()`` would take out, and leaves it in the queue.
    ///
    /// - Throws: ``SluiceError/Code/undecodable``, and errors of the file.
    public func peek() async throws(SluiceError) -> QueuedAction<A>? {
        let next = try await engine.store.waiting(
            in: name,
            from: .next,
            limit: 1,
            by: discipline
        ).first
        return try next.map { stored throws(SluiceError) in
            try broker.book.reader.queued(A.self, from: stored, in: name).get()
        }
    }

    /// Only a store has what a handle does.
    var engine: FileEngine {
        get throws(SluiceError) { try broker.fileEngine(for: "a queue handle") }
    }

    var discipline: QueueDiscipline? { broker.book.routes.admission.queues.saidDiscipline(of: name) }
    /// Returns how many actions wait, whatever their kind; the time grows with their number.
    public func count() async throws(SluiceError) -> Int {
        try await engine.store.waitingCount(in: name)
    }

    /// Returns whether no action waits, whatever its kind; scheduled, running and expired ones do not count.
    public func isEmpty() async throws(SluiceError) -> Bool {
        try await engine.store.waiting(
            in: name,
            from: .next,
            limit: 1,
            by: discipline
        ).isEmpty
    }

    /// Returns whether an action waits in this queue.
    public func contains(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await engine.store.contains(action, in: name)
    }

    /// Returns the waiting actions in their order, a page at a time.
    ///
    /// A queue that runs its last action first returns the last first.
    public func contents(pageSize: Int = 100) -> QueueContents<A> {
        QueueContents(queue: name, broker: broker, pageSize: max(pageSize, 1))
    }
}

extension Broker {
    /// Returns a handle on a queue, which need not exist, whose actions are of one type.
    ///
    /// The name, not a pattern, is checked when it is used. An action of another kind, or one that does not
    /// decode, stays in the queue: removing or reading it throws ``SluiceError/Code/undecodable``. On a
    /// server it can only add: its other calls throw ``SluiceError/Code/unsupported``.
    public func queue<A: Action>(_ name: QueueName, of type: A.Type) -> QueueHandle<A> {
        QueueHandle(name: name, broker: self)
    }
}
