internal import Synchronization

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Enqueuing. What is enqueued survives a kill of the process and, at the default durability, a loss of
/// power, when the call returns (G1).
extension Broker {
    /// Enqueues an action.
    ///
    /// - Parameters:
    ///   - action: The action; its type says queue and sort key.
    ///   - date: When it takes its place in the queue's order; until then it blocks nothing. `nil` is at
    ///     once.
    /// - Returns: The action's number.
    /// - Throws: `CancellationError` when the task was cancelled before the write began; ``SluiceError`` with
    ///   ``SluiceError/Code/sortKeyMismatch``, ``SluiceError/Code/queueFull``,
    ///   ``SluiceError/Code/payloadTooLarge``, ``SluiceError/Code/databaseLocked``,
    ///   ``SluiceError/Code/diskFull`` and others. Nothing has been stored then, but for
    ///   ``SluiceError/Code/unknownCommit`` (G14).
    @discardableResult
    public func enqueue<A: Action>(_ action: A, notBefore date: Date? = nil) async throws -> ActionID {
        try await store(drafts: [draft(action, notBefore: date)])[0]
    }

    /// Enqueues actions of one type, all or none, in their order.
    ///
    /// - Returns: The actions' numbers, in the same order.
    /// - Throws: As ``enqueue(_:notBefore:)``.
    @discardableResult
    public func enqueue<A: Action>(_ actions: some Sequence<A>) async throws -> [ActionID] {
        try await store(drafts: try await drafts(Array(actions)))
    }

    /// Enqueues actions whose kinds and payloads are known at run time only, all or none, in their order.
    ///
    /// - Returns: The actions' numbers, in the same order.
    /// - Throws: As ``enqueue(_:notBefore:)``, and ``SluiceError/Code/payloadNotJSON``.
    @discardableResult
    public func enqueue(raw actions: some Sequence<RawAction>) async throws -> [ActionID] {
        try await store(drafts: actions.map { action throws(SluiceError) in try draft(action) })
    }

    /// Enqueues an action and blocks the calling thread until it is durable.
    ///
    /// Actions are stored in the order of the calls; calls in separately started tasks have none. For code
    /// that cannot wait in another way; a commit takes as long as the disk's sync. It passes the
    /// ``BrokerOptions/middleware`` by.
    ///
    /// - Throws: As ``enqueue(_:notBefore:)``, but for `CancellationError`.
    @discardableResult
    public func enqueueBlocking<A: Action>(
        _ action: A,
        notBefore date: Date? = nil
    ) throws(SluiceError) -> ActionID {
        let ids = try store.enqueueBlocking([draft(action, notBefore: date)])
        admitScheduled(isNeeded: date != nil)
        return ids[0]
    }

    private func store(drafts: [ActionDraft]) async throws -> [ActionID] {
        guard !drafts.isEmpty else { return [] }
        guard !options.middleware.isEmpty else { return try await write(drafts: drafts) }
        let ids = try await pass(options.middleware[...], EnqueueContext(drafts))
        precondition(ids.count == drafts.count, "a middleware's enqueue must return what next has returned")
        return ids
    }

    /// Goes through what is left of the middleware, the outermost first.
    private func pass(
        _ rest: ArraySlice<any Middleware>,
        _ context: EnqueueContext
    ) async throws -> [ActionID] {
        guard let first = rest.first else { return try await write(drafts: context.traced) }
        return try await first.enqueue(context) { try await self.pass(rest.dropFirst(), $0) }
    }

    private func write(drafts: [ActionDraft]) async throws -> [ActionID] {
        let ids = try await store.enqueue(drafts)
        admitScheduled(isNeeded: drafts.contains { $0.notBefore != nil })
        return ids
    }

    private func admitScheduled(isNeeded: Bool) {
        if isNeeded && isRunning { scheduler.schedule(.admitScheduled, within: .zero) }
    }

    /// Encodes actions, many of them in two tasks: it takes about as long as storing them.
    private func drafts<A: Action>(_ actions: [A]) async throws -> [ActionDraft] {
        func encode(_ range: Range<Int>) throws(SluiceError) -> [ActionDraft] {
            var drafts: [ActionDraft] = []
            drafts.reserveCapacity(range.count)
            for index in range { drafts.append(try draft(actions[index], notBefore: nil)) }
            return drafts
        }
        guard actions.count >= Self.concurrentEncodingCount else { return try encode(actions.indices) }
        let middle = actions.count / 2
        async let second = encode(middle..<actions.count)
        let first = try encode(0..<middle)
        return try await first + second
    }

    /// Fewer are encoded before a second task has begun.
    private static let concurrentEncodingCount = 64

    private func draft<A: Action>(_ action: A, notBefore date: Date?) throws(SluiceError) -> ActionDraft {
        let options = try check(action.queue, A.kind, A.version, action.sortKey)
        return ActionDraft(
            queue: action.queue,
            kind: A.kind,
            sortKey: action.sortKey,
            payload: try coder.encode(action),
            version: A.version,
            notBefore: date.map(Timestamp.init),
            depthLimit: options?.maximumDepth
        )
    }

    private func draft(_ action: RawAction) throws(SluiceError) -> ActionDraft {
        let options = try check(action.queue, action.kind, action.version, action.sortKey)
        try coder.check(action)
        return ActionDraft(
            queue: action.queue,
            kind: action.kind,
            sortKey: action.sortKey,
            payload: action.payload,
            version: action.version,
            depthLimit: options?.maximumDepth
        )
    }

    /// Refuses what no queue can hold, and finds the queue's options.
    private func check(
        _ queue: QueueName,
        _ kind: String,
        _ version: Int,
        _ key: SortKey
    ) throws(SluiceError) -> QueueOptions? {
        try queue.validate()
        try validateKind(kind)
        try validateVersion(version, of: kind)
        if case .real(let value) = key.storage, value.isNaN {
            throw SluiceError(
                .sortKeyNotANumber,
                "the sort key of an action for the queue '\(queue)' is not a number"
            )
        }
        let options = routing.withLock { $0.queueOptions.matches(queue).first { _ in true } }
        if let kind = options?.sortKey, kind != key.kind {
            throw SluiceError(
                .sortKeyMismatch,
                "the queue '\(queue)' is ordered by \(kind.rawValue); the action's key is \(key.kind)"
            )
        }
        return options
    }
}
