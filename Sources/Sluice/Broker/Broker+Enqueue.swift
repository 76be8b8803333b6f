internal import Logging

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Enqueuing; when a call returns, the action survives a kill and, by default, a loss of power (G1).
extension Broker {
    /// Enqueues an action, due at a date; until then it blocks nothing.
    ///
    /// The date replaces that of the options, ``EnqueueOptions/notBefore``; `nil` leaves it.
    ///
    /// Returns its number, and a way to wait for it; with a deduplication key, perhaps of an existing action.
    ///
    /// - Throws: `CancellationError` when the task was cancelled before the write began; ``SluiceError``
    ///   `sortKeyMismatch`, `queueFull`, `payloadTooLarge`, `databaseLocked`, `diskFull` and others, such as
    ///   `invalidOptions`, `invalidGate` and `duplicateKey` for options. An error means that nothing has been
    ///   stored, except ``SluiceError/Code/unknownCommit`` (G14).
    @discardableResult
    public func enqueue<A: Action>(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions(),
        notBefore date: Date? = nil
    ) async throws -> EnqueueReceipt {
        let draft = try drafter.draft(action, options.due(date))
        return EnqueueReceipt(id: try await enqueue(drafts: [draft])[0], broker: self)
    }

    /// Enqueues actions of one type, all or none, in their order, and returns their numbers.
    ///
    /// - Parameters:
    ///   - actions: What is to be done.
    ///   - shared: The options of each. If several share a key in one queue, the first wins: it counts as
    ///     stored for the others.
    ///   - options: Returns the options of one action, in place of the shared ones; its errors are rethrown.
    @discardableResult
    public func enqueue<A: Action>(
        _ actions: some Sequence<A>,
        _ shared: EnqueueOptions = EnqueueOptions(),
        options: ((A) throws -> EnqueueOptions)? = nil
    ) async throws -> [ActionID] {
        if let options {
            return try await enqueue(drafts: actions.map { try drafter.draft($0, options($0)) })
        }
        try shared.validate()
        return try await enqueue(drafts: try await drafts(Array(actions), shared))
    }

    /// Enqueues actions of several types, all or none, in their order, and returns their numbers.
    ///
    /// ```swift
    /// try await broker.enqueue(contentsOf: [CreateRoom(room), Invite(room, friend), SendMessage(hello)])
    /// ```
    @discardableResult
    public func enqueue(
        contentsOf actions: [any Action],
        _ shared: EnqueueOptions = EnqueueOptions()
    ) async throws -> [ActionID] {
        try await enqueue(
            drafts: actions.map { action throws(SluiceError) in try drafter.draft(action, shared) }
        )
    }

    /// Enqueues actions of kinds known at run time only, as ``enqueue(_:_:options:)``; payloads must be JSON.
    @discardableResult
    public func enqueue(
        raw actions: some Sequence<RawAction>,
        _ shared: EnqueueOptions = EnqueueOptions(),
        options: ((RawAction) throws -> EnqueueOptions)? = nil
    ) async throws -> [ActionID] {
        try await enqueue(drafts: actions.map { try drafter.draft($0, options?($0) ?? shared) })
    }

    /// Enqueues an action and blocks the calling thread until it is durable, as long as the disk's sync.
    ///
    /// Actions are stored in the order of the calls, without the ``BrokerOptions/middleware``. It throws as
    /// ``enqueue(_:_:notBefore:)`` does, except `CancellationError`.
    @discardableResult
    public func enqueueBlocking<A: Action>(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions(),
        notBefore date: Date? = nil
    ) throws(SluiceError) -> EnqueueReceipt {
        let drafts = try [drafter.draft(action, options.due(date))]
        try require(drafts)
        let ids = try engine.enqueueBlocking(drafts)
        return EnqueueReceipt(id: ids[0], broker: self)
    }

    /// Submits an action to be stored soon, from any code, and returns at once: it waits for no disk.
    ///
    /// ```swift
    /// broker.submit(SendMessage(…)) { error in notSent.send("\(error)") }
    /// ```
    ///
    /// Actions are stored in the order of the calls, those of ``enqueueBlocking(_:_:notBefore:)`` included,
    /// without the ``BrokerOptions/middleware``. The action is encoded on the calling thread.
    ///
    /// It is not durable when the call returns: if the process ends before the write, the action is lost.
    /// ``close(grace:)`` and ``BrokerFile/flush()`` return after earlier submissions have been written or
    /// refused. Submissions wait in memory for a slow disk, a lock or the end of a suspension, without a
    /// limit: if many may come at once, use an enqueue that waits.
    ///
    /// - Parameters:
    ///   - action: What is to be done.
    ///   - options: How it waits, and by what it is found.
    ///   - onError: Receives the error if the action is not stored, or with
    ///     ``SluiceError/Code/unknownCommit`` if that is unknown: on any thread, perhaps before the call
    ///     returns. It must not block. By default the error is logged at `error`, without the payload (G13).
    public func submit<A: Action>(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions(),
        onError: (@Sendable (SluiceError) -> Void)? = nil
    ) {
        let (queue, kind, logger) = (action.queue, A.kind, self.options.logger)
        let report: @Sendable (SluiceError) -> Void =
            onError ?? { error in
                let facts: Logger.Metadata = ["error": "\(error)", "queue": "\(queue)", "kind": "\(kind)"]
                logger.error("a submitted action is not stored", metadata: facts)
            }
        do throws(SluiceError) {
            let drafts = [try drafter.draft(action, options)]
            try require(drafts)
            engine.submit(drafts) { error in if let error { report(error) } }
        } catch {
            report(error)
        }
    }

    func enqueue(drafts: [ActionDraft]) async throws -> [ActionID] {
        if drafts.isEmpty { return [] }
        // Middleware may add a trace, which every engine has.
        try require(drafts)
        // Without middleware no closure is made.
        guard !options.middleware.isEmpty else { return try await engine.enqueue(drafts) }
        return try await Sluice.enqueue(drafts, through: options.middleware) { [engine] drafts in
            try await engine.enqueue(drafts)
        }
    }

    /// Encodes actions, many of them in two tasks, since encoding takes about as long as storing.
    private func drafts<A: Action>(_ actions: [A], _ options: EnqueueOptions) async throws -> [ActionDraft] {
        let (notBefore, extras) = (options.notBefore.map(Timestamp.init), options.extras)
        @Sendable func encode(_ range: Range<Int>) throws(SluiceError) -> [ActionDraft] {
            var drafts: [ActionDraft] = []
            drafts.reserveCapacity(range.count)
            for index in range {
                drafts.append(try drafter.draft(actions[index], options, notBefore, extras))
            }
            return drafts
        }
        guard actions.count >= Self.concurrentEncodingCount else { return try encode(actions.indices) }
        let middle = actions.count / 2
        return try await withThrowingTaskGroup(of: [ActionDraft].self) { group in
            group.addTask { try encode(middle..<actions.count) }
            var drafts = try encode(0..<middle)
            for try await second in group { drafts += second }
            return drafts
        }
    }

    /// The number of actions from which a second task is worth its start.
    private static let concurrentEncodingCount = 64
}
