#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// The operations of every broker, whatever keeps its queues: routes, enqueuing, running, looking and
/// operating.
///
/// ``Broker`` keeps queues in a SQLite file or in memory. Code that works with any broker takes
/// `some ActionBroker`, or `any ActionBroker`. Each operation is described at ``Broker``.
public protocol ActionBroker: AnyObject, Sendable {
    // Routes.
    func queues(_ pattern: QueuePattern, _ options: QueueOptions) throws(SluiceError)
    func route<A: Action>(
        _ pattern: QueuePattern,
        _ type: A.Type,
        _ options: RouteOptions,
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError)
    func route<A: Action>(
        _ pattern: QueuePattern,
        completing type: A.Type,
        _ options: RouteOptions,
        handler: @escaping @Sendable (A, Attempt, Completion) -> Void
    ) throws(SluiceError)
    func routeAnyKind(
        _ pattern: QueuePattern,
        _ options: RouteOptions,
        handler: @escaping @Sendable (_ payload: String, Attempt) async throws -> Outcome
    ) throws(SluiceError)

    // Enqueuing.
    @discardableResult
    func enqueue<A: Action>(
        _ action: A,
        _ options: EnqueueOptions,
        notBefore date: Date?
    ) async throws -> EnqueueReceipt
    @discardableResult
    func enqueue<A: Action>(
        _ actions: some Sequence<A>,
        _ shared: EnqueueOptions,
        options: ((A) throws -> EnqueueOptions)?
    ) async throws -> [ActionID]
    @discardableResult
    func enqueue(
        raw actions: some Sequence<RawAction>,
        _ shared: EnqueueOptions,
        options: ((RawAction) throws -> EnqueueOptions)?
    ) async throws -> [ActionID]

    // Running.
    func run() async throws
    func stop(grace: Duration?) async
    func close(grace: Duration?) async
    func waitUntilIdle() async
    func settled(_ action: ActionID) async throws -> ActionEnd

    // Looking.
    func status(of queue: QueueName) async throws(SluiceError) -> QueueStatus
    func statuses(
        matching pattern: QueuePattern,
        in states: Set<QueueStatus.State>?,
        limit: Int
    ) async throws(SluiceError) -> [QueueStatus]
    func actionSummaries(_ pattern: QueuePattern, limit: Int) async throws(SluiceError) -> [ActionSummary]
    func actionCount() async throws(SluiceError) -> Int
    func failedAttempts(of action: ActionID) async throws(SluiceError) -> [FailedAttempt]
    func events(buffering: EventBuffering) -> QueueEvents

    // Actions.
    @discardableResult func cancel(_ action: ActionID) async throws(SluiceError) -> Cancellation
    @discardableResult func cancel(tag: String) async throws(SluiceError) -> CancellationCounts
    @discardableResult
    func cancel(queues pattern: QueuePattern) async throws(SluiceError) -> CancellationCounts
    @discardableResult
    func move(_ action: ActionID, to queue: QueueName) async throws(SluiceError) -> ActionChange
    @discardableResult func moveToFront(_ action: ActionID) async throws(SluiceError) -> ActionChange
    @discardableResult
    func edit<A: Action>(
        _ action: ActionID,
        to new: A,
        ifRunning: EditWhileRunning
    ) async throws(SluiceError) -> ActionChange
    @discardableResult
    func reschedule(_ action: ActionID, notBefore date: Date?) async throws(SluiceError) -> ActionChange
    @discardableResult
    func setExpiry(_ action: ActionID, _ date: Date?) async throws(SluiceError) -> ActionChange
    @discardableResult
    func setTag(_ action: ActionID, _ tag: String?) async throws(SluiceError) -> ActionChange
    @discardableResult
    func skipHead(of queue: QueueName, reason: String) async throws(SluiceError) -> HeadSkip
    @discardableResult func retryNow(_ pattern: QueuePattern) async throws(SluiceError) -> Int

    // Gates and holds.
    func openGate(_ name: GateName, isKept: Bool, spread: Duration) async throws(SluiceError)
    func closeGate(_ name: GateName, isKept: Bool) async throws(SluiceError)
    func gates() async throws(SluiceError) -> [Gate]
    @discardableResult
    func hold(
        _ pattern: QueuePattern,
        by holder: String,
        reason: String,
        for duration: Duration?
    ) async throws(SluiceError) -> HoldID
    @discardableResult func endHold(_ hold: HoldID) async throws(SluiceError) -> Bool
    @discardableResult
    func endHolds(matching pattern: QueuePattern, by holder: String?) async throws(SluiceError) -> Int
    func holds() async throws(SluiceError) -> [Hold]

    // Dead letters.
    func deadLetters(
        _ pattern: QueuePattern,
        cause: DeadLetterCause?,
        after last: DeadLetter?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetter]
    @discardableResult func requeue(_ action: ActionID) async throws(SluiceError) -> Bool
    @discardableResult
    func requeueAll(_ pattern: QueuePattern, cause: DeadLetterCause?) async throws(SluiceError) -> Int
    @discardableResult func purge(_ action: ActionID) async throws(SluiceError) -> Bool
}

// MARK: - Forms that exist once

extension ActionBroker {
    /// Routes the actions of a handler's type in the queues of a pattern to the handler.
    ///
    /// See ``Broker/route(_:_:_:handler:)``.
    public func route<H: Handler>(
        _ pattern: QueuePattern,
        to handler: H,
        _ options: RouteOptions = RouteOptions()
    ) throws(SluiceError) {
        try route(pattern, H.Input.self, options) { input, attempt in
            try await handler.handle(input, attempt)
        }
    }

    /// Routes the actions of a handler's type in the queues of a pattern to a handler with a completion.
    ///
    /// See ``Broker/route(_:completing:_:handler:)``.
    public func route<H: CompletionHandler>(
        _ pattern: QueuePattern,
        to handler: H,
        _ options: RouteOptions = RouteOptions()
    ) throws(SluiceError) {
        try route(pattern, completing: H.Input.self, options) { input, attempt, completion in
            handler.handle(input, attempt, completion: completion)
        }
    }

    /// Cancels several actions, each in a transaction of its own.
    ///
    /// See ``Broker/cancel(_:)``.
    @discardableResult
    public func cancel(actions: some Sequence<ActionID>) async throws(SluiceError) -> CancellationCounts {
        var counts = CancellationCounts()
        for action in Array(actions) {
            switch try await cancel(action) {
            case .removed: counts.removed += 1
            case .signalled: counts.signalled += 1
            case .tooLate: counts.tooLate += 1
            }
        }
        return counts
    }
}

// MARK: - Defaults

// A protocol's requirements have no default arguments. A concrete broker has its own, which are preferred.
extension ActionBroker {
    /// Routes the actions of a type with the default options.
    @_disfavoredOverload
    public func route<A: Action>(
        _ pattern: QueuePattern,
        _ type: A.Type,
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try route(pattern, type, RouteOptions(), handler: handler)
    }

    /// Enqueues an action, with options if it needs any.
    @_disfavoredOverload
    @discardableResult
    public func enqueue<A: Action>(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions()
    ) async throws -> EnqueueReceipt {
        try await enqueue(action, options, notBefore: nil)
    }

    /// Enqueues actions of one type, all or none, in their order.
    @_disfavoredOverload
    @discardableResult
    public func enqueue<A: Action>(
        _ actions: some Sequence<A>,
        _ shared: EnqueueOptions = EnqueueOptions()
    ) async throws -> [ActionID] {
        try await enqueue(actions, shared, options: nil)
    }

    /// Closes the broker; handlers have as long as they need.
    @_disfavoredOverload
    public func close() async { await close(grace: nil) }

    /// Stops the broker; handlers have as long as they need.
    @_disfavoredOverload
    public func stop() async { await stop(grace: nil) }

    /// Ends the waits for retries in all queues, or in those of a pattern.
    @_disfavoredOverload
    @discardableResult
    public func retryNow() async throws(SluiceError) -> Int { try await retryNow(.all) }

    /// Holds the queues of a pattern until the hold is ended.
    @_disfavoredOverload
    @discardableResult
    public func hold(_ pattern: QueuePattern, by holder: String) async throws(SluiceError) -> HoldID {
        try await hold(pattern, by: holder, reason: "", for: nil)
    }

    /// Opens a gate at once, until the file is opened again.
    @_disfavoredOverload
    public func openGate(_ name: GateName) async throws(SluiceError) {
        try await openGate(name, isKept: false, spread: .zero)
    }

    /// The first hundred dead letters of a pattern.
    @_disfavoredOverload
    public func deadLetters(
        _ pattern: QueuePattern = .all
    ) async throws(SluiceError) -> [DeadLetter] {
        try await deadLetters(pattern, cause: nil, after: nil, limit: 100)
    }
}

extension Broker: ActionBroker {}
