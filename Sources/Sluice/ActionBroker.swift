#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// The operations of every broker: routes, enqueuing, running, looking and operating.
///
/// ``Broker`` describes each. Code that works with any broker takes `some ActionBroker`.
public protocol ActionBroker: AnyObject, Sendable {
    /// Sets the options for the queues of a pattern.
    func queues(_ pattern: QueuePattern, _ options: QueueOptions) throws(SluiceError)
    /// Routes the actions of a type in the queues of a pattern to a closure.
    func route<A: Action>(
        _ pattern: QueuePattern,
        _ type: A.Type,
        _ options: RouteOptions,
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError)
    /// Routes the actions of a type in the queues of a pattern to a closure with a completion.
    func route<A: Action>(
        _ pattern: QueuePattern,
        completing type: A.Type,
        _ options: RouteOptions,
        handler: @escaping @Sendable (A, Attempt, Completion) -> Void
    ) throws(SluiceError)
    /// Routes actions of any kind in the queues of a pattern, unless the pattern has a route for their kind.
    func routeAnyKind(
        _ pattern: QueuePattern,
        _ options: RouteOptions,
        handler: @escaping @Sendable (_ payload: String, Attempt) async throws -> Outcome
    ) throws(SluiceError)
    /// Routes the actions of several types in the queues of a pattern to one closure.
    func route<U: ActionUnion>(
        _ pattern: QueuePattern,
        _ type: U.Type,
        _ options: RouteOptions,
        handler: @escaping @Sendable (U, Attempt) async throws -> Outcome
    ) throws(SluiceError)
    /// Routes the actions of a type in the queues whose names satisfy a predicate to a closure.
    func route<A: Action>(
        where isMatch: @escaping @Sendable (QueueName) -> Bool,
        _ type: A.Type,
        _ options: RouteOptions,
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError)
    /// Routes the actions of a type in the queues that satisfy a predicate to a closure with a completion.
    func route<A: Action>(
        where isMatch: @escaping @Sendable (QueueName) -> Bool,
        completing type: A.Type,
        _ options: RouteOptions,
        handler: @escaping @Sendable (A, Attempt, Completion) -> Void
    ) throws(SluiceError)
    /// Removes the route of a pattern for a kind; `nil` is the route for any kind.
    @discardableResult
    func removeRoute(_ pattern: QueuePattern, kind: String?) throws(SluiceError) -> Bool
    /// Removes all routes of a pattern.
    @discardableResult func removeRoutes(_ pattern: QueuePattern) throws(SluiceError) -> Bool
    /// Removes all routes by predicate.
    @discardableResult func removePredicateRoutes() throws(SluiceError) -> Bool
    /// Removes the options of a pattern.
    @discardableResult
    func removeQueueOptions(_ pattern: QueuePattern) async throws(SluiceError) -> Bool
    /// Sets the options for the queues of a pattern instead of those that it has.
    @discardableResult func replaceQueueOptions(
        _ pattern: QueuePattern,
        by options: QueueOptions
    ) async throws(SluiceError) -> Bool

    /// Adds an upgrader that converts payloads of an older version to the type's current one, in one step.
    func upgrade<A: Action, Old: Decodable & Sendable>(
        _ type: A.Type,
        from version: Int,
        reading old: Old.Type,
        _ upgrader: @escaping @Sendable (Old) throws -> A
    ) throws(SluiceError)
    /// Adds an upgrader that converts payloads of a kind to the next version, as JSON text.
    func upgrade(
        kind: String,
        from version: Int,
        _ upgrader: @escaping @Sendable (_ payload: String) throws -> String
    ) throws(SluiceError)
    /// Notifies the broker that ``BrokerOptions/payloadSealing`` can open more payloads.
    func payloadSealingChanged()
    /// Returns the plain text of a stored payload; a sealed one is opened.
    func openPayload(_ payload: String, kind: String, version: Int) throws(SluiceError) -> String

    /// Enqueues an action.
    @discardableResult func enqueue<A: Action>(
        _ action: A,
        _ options: EnqueueOptions,
        notBefore date: Date?
    ) async throws -> EnqueueReceipt
    /// Enqueues actions of one type, all or none, in their order.
    @discardableResult func enqueue<A: Action>(
        _ actions: some Sequence<A>,
        _ shared: EnqueueOptions,
        options: ((A) throws -> EnqueueOptions)?
    ) async throws -> [ActionID]
    /// Enqueues actions whose kinds and payloads are known at run time only, all or none, in their order.
    @discardableResult func enqueue(
        raw actions: some Sequence<RawAction>,
        _ shared: EnqueueOptions,
        options: ((RawAction) throws -> EnqueueOptions)?
    ) async throws -> [ActionID]

    /// Enqueues actions of several types, all or none, in their order.
    @discardableResult func enqueue(
        contentsOf actions: [any Action],
        _ shared: EnqueueOptions
    ) async throws -> [ActionID]

    /// Submits an action to be stored soon, in the order of the calls, and returns at once.
    func submit<A: Action>(
        _ action: A,
        _ options: EnqueueOptions,
        onError: (@Sendable (SluiceError) -> Void)?
    )

    /// Runs the queues until ``stop(grace:)`` is called or the task is cancelled.
    func run() async throws
    /// Stops the broker and waits until no handler runs.
    func stop(grace: Duration?) async
    /// Stops the broker and closes the file; later calls throw ``SluiceError/Code/closed``.
    func close(grace: Duration?) async
    /// Waits until a running broker has nothing left to run or to wait for.
    func waitUntilIdle() async
    /// Waits until the queues of a pattern have nothing left to run or to wait for.
    func waitUntilIdle(_ pattern: QueuePattern) async throws(SluiceError)
    /// Waits until the action has ended, and returns how.
    func settled(_ action: ActionID) async throws -> ActionEnd
    /// Returns the state of a queue, with all reasons why it does not move.
    func status(of queue: QueueName) async throws(SluiceError) -> QueueStatus
    /// Returns what an action does or waits for, or how it ended.
    func action(_ id: ActionID) async throws(SluiceError) -> ActionState
    /// Returns the states of the actions and dead letters with a tag, by number.
    func actions(tag: String, limit: Int) async throws(SluiceError) -> [ActionState]
    /// Returns the status of queues with work, by name.
    func statuses(
        matching pattern: QueuePattern,
        in states: Set<QueueStatus.State>?,
        limit: Int
    ) async throws(SluiceError) -> [QueueStatus]
    /// Returns waiting and running actions, by queue, in the order in which each queue runs them.
    func actionSummaries(_ pattern: QueuePattern, limit: Int) async throws(SluiceError) -> [ActionSummary]
    /// Returns the number of waiting and running actions.
    func actionCount() async throws(SluiceError) -> Int
    /// Returns the failed attempts of an action or dead letter, the oldest first.
    func failedAttempts(of action: ActionID) async throws(SluiceError) -> [FailedAttempt]
    /// Returns the events from now on.
    func events(buffering: EventBuffering) -> QueueEvents
    /// Returns the states of the actions of a selection, and after each change the differences.
    func observe(actions selection: ActionSelection, after position: ActionPosition?) -> ActionUpdates
    /// Returns the statuses of the queues of a pattern, and after each change the differences.
    func observe(
        statuses pattern: QueuePattern,
        after position: StatusPosition?
    ) -> QueueStatusListUpdates
    /// Cancels an action.
    @discardableResult func cancel(_ action: ActionID) async throws(SluiceError) -> Cancellation
    /// Cancels the actions that have a tag.
    @discardableResult func cancel(tag: String) async throws(SluiceError) -> CancellationCounts
    /// Cancels all waiting and running actions in the queues of a pattern.
    @discardableResult
    func cancel(queues pattern: QueuePattern) async throws(SluiceError) -> CancellationCounts
    /// Moves an action to another queue, to the place of its sort key and number.
    @discardableResult
    func move(_ action: ActionID, to queue: QueueName) async throws(SluiceError) -> ActionChange
    /// Makes a waiting action the next to start in its queue, whatever the queue's discipline.
    @discardableResult func moveToFront(_ action: ActionID) async throws(SluiceError) -> ActionChange
    /// Replaces an action's payload, and its kind by that of the new type.
    @discardableResult func edit<A: Action>(
        _ action: ActionID,
        to new: A,
        ifRunning: EditWhileRunning
    ) async throws(SluiceError) -> ActionChange
    /// Replaces an action's payload with JSON text of its kind and version.
    @discardableResult
    func edit(
        _ action: ActionID,
        payload: String,
        replacing old: String?,
        ifRunning: EditWhileRunning
    ) async throws(SluiceError) -> ActionChange
    /// Schedules an action for later, or makes a scheduled action due now.
    @discardableResult
    func reschedule(_ action: ActionID, notBefore date: Date?) async throws(SluiceError) -> ActionChange
    /// Sets or clears the expiry of an action.
    @discardableResult
    func setExpiry(_ action: ActionID, _ date: Date?) async throws(SluiceError) -> ActionChange
    /// Sets or clears the tag of an action at once, also while it runs.
    @discardableResult
    func setTag(_ action: ActionID, _ tag: String?) async throws(SluiceError) -> ActionChange
    /// Makes the action that has parked a queue a dead letter, or else the head, and lets the queue continue.
    @discardableResult
    func skipHead(
        of queue: QueueName,
        only action: ActionID?,
        reason: String?
    ) async throws(SluiceError) -> HeadSkip
    /// Ends the retry waits of queues and unparks them, so that their heads are tried now.
    @discardableResult func retryNow(_ pattern: QueuePattern) async throws(SluiceError) -> Int
    /// Opens a gate, so that the actions that wait for it may start.
    func openGate(_ name: GateName, isKept: Bool, spread: Duration) async throws(SluiceError)
    /// Closes a gate, so that no action that needs it starts.
    func closeGate(_ name: GateName, isKept: Bool, for duration: Duration?) async throws(SluiceError)
    /// Returns the gates that have been opened or closed, by name.
    func gates() async throws(SluiceError) -> [Gate]
    /// Holds the queues of a pattern.
    @discardableResult func hold(
        _ pattern: QueuePattern,
        by holder: String,
        reason: String,
        for duration: Duration?
    ) async throws(SluiceError) -> HoldID
    /// Ends a hold, so that queues without another hold continue.
    @discardableResult func endHold(_ hold: HoldID) async throws(SluiceError) -> Bool
    /// Ends the holds of a pattern.
    @discardableResult
    func endHolds(matching pattern: QueuePattern, by holder: String?) async throws(SluiceError) -> Int
    /// Returns the current holds, the oldest first.
    func holds() async throws(SluiceError) -> [Hold]

    /// Adds what an operator did to the audit log.
    func audit(_ act: String, by person: String, result: String) async throws(SluiceError)
    /// Returns what operators did, the newest first.
    func auditEntries(limit: Int) async throws(SluiceError) -> [AuditEntry]

    /// Returns dead letters, the newest first.
    func deadLetters(
        _ pattern: QueuePattern,
        cause: DeadLetterCause?,
        after last: DeadLetter?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetter]
    /// Returns a dead letter; `nil` when there is none with this number.
    func deadLetter(_ action: ActionID) async throws(SluiceError) -> DeadLetter?
    /// Puts a dead letter back at the place of its sort key and number, with no attempt spent.
    @discardableResult func requeue(_ action: ActionID) async throws(SluiceError) -> Bool
    /// Puts a dead letter back at the end of its queue, under a new number, which is returned.
    @discardableResult func requeueAtEnd(_ action: ActionID) async throws(SluiceError) -> ActionID?
    /// Puts the dead letters of a pattern back, each at its old place.
    @discardableResult
    func requeueAll(_ pattern: QueuePattern, cause: DeadLetterCause?) async throws(SluiceError) -> Int
    /// Deletes a dead letter with its history.
    @discardableResult func purge(_ action: ActionID) async throws(SluiceError) -> Bool
    /// Deletes dead letters with their histories, the oldest first, and returns how many.
    @discardableResult
    func purgeDeadLetters(
        _ pattern: QueuePattern,
        cause: DeadLetterCause?,
        diedBefore date: Date?,
        keepingNewest count: Int
    ) async throws(SluiceError) -> Int
}

extension ActionBroker {
    /// Routes the actions of a handler's type to the handler.
    ///
    /// See ``Broker/route(_:_:_:handler:)-(_,A.Type,_,_)``.
    public func route<H: Handler>(
        _ pattern: QueuePattern,
        to handler: H,
        _ options: RouteOptions = RouteOptions()
    ) throws(SluiceError) { try route(pattern, H.Input.self, options) { try await handler.handle($0, $1) } }

    /// Routes the actions of a handler's type to it: see ``Broker/route(_:completing:_:handler:)``.
    public func route<H: CompletionHandler>(
        _ pattern: QueuePattern,
        to handler: H,
        _ options: RouteOptions = RouteOptions()
    ) throws(SluiceError) {
        try route(pattern, completing: H.Input.self, options) { handler.handle($0, $1, completion: $2) }
    }

    /// Adds an upgrader for a type's kind: see ``Broker/upgrade(kind:from:_:)``.
    public func upgrade<A: Action>(
        _ type: A.Type,
        from version: Int,
        _ upgrader: @escaping @Sendable (_ payload: String) throws -> String
    ) throws(SluiceError) { try upgrade(kind: A.kind, from: version, upgrader) }

    /// Returns a way to wait for an action that was enqueued earlier, such as before a restart.
    public func receipt(of action: ActionID) -> EnqueueReceipt { EnqueueReceipt(id: action, broker: self) }

    /// Cancels several actions, each in a transaction of its own: see ``Broker/cancel(_:)``.
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

// A protocol's requirements have no default arguments. A concrete broker has its own, which are preferred.
extension ActionBroker {
    /// Routes the actions of a type with the default options.
    @_disfavoredOverload public func route<A: Action>(
        _ pattern: QueuePattern,
        _ type: A.Type,
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) { try route(pattern, type, RouteOptions(), handler: handler) }

    /// Enqueues an action, with options if it needs any.
    @_disfavoredOverload @discardableResult public func enqueue<A: Action>(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions()
    ) async throws -> EnqueueReceipt { try await enqueue(action, options, notBefore: nil) }

    /// Enqueues actions of one type, all or none, in their order.
    @_disfavoredOverload @discardableResult public func enqueue<A: Action>(
        _ actions: some Sequence<A>,
        _ shared: EnqueueOptions = EnqueueOptions()
    ) async throws -> [ActionID] { try await enqueue(actions, shared, options: nil) }

    /// Enqueues actions whose kinds and payloads are known at run time only, all or none, in their order.
    @_disfavoredOverload @discardableResult public func enqueue(
        raw actions: some Sequence<RawAction>,
        _ shared: EnqueueOptions = EnqueueOptions()
    ) async throws -> [ActionID] { try await enqueue(raw: actions, shared, options: nil) }

    /// The states of the first hundred actions and dead letters with a tag.
    @_disfavoredOverload
    public func actions(tag: String) async throws(SluiceError) -> [ActionState] {
        try await actions(tag: tag, limit: 100)
    }

    /// Returns the states of the actions of a selection, from a snapshot on.
    @_disfavoredOverload
    public func observe(actions selection: ActionSelection) -> ActionUpdates {
        observe(actions: selection, after: nil)
    }

    /// Returns the statuses of the queues of a pattern, from a snapshot on.
    @_disfavoredOverload
    public func observe(statuses pattern: QueuePattern) -> QueueStatusListUpdates {
        observe(statuses: pattern, after: nil)
    }

    /// Enqueues actions of several types, all or none, in their order.
    @_disfavoredOverload @discardableResult
    public func enqueue(contentsOf actions: [any Action]) async throws -> [ActionID] {
        try await enqueue(contentsOf: actions, EnqueueOptions())
    }

    /// Submits an action to be stored soon; an error is logged.
    @_disfavoredOverload
    public func submit<A: Action>(_ action: A, _ options: EnqueueOptions = EnqueueOptions()) {
        submit(action, options, onError: nil)
    }

    /// Closes the broker; handlers have as long as they need.
    @_disfavoredOverload public func close() async { await close(grace: nil) }
    /// Stops the broker; handlers have as long as they need.
    @_disfavoredOverload public func stop() async { await stop(grace: nil) }

    /// Makes the action that parked a queue a dead letter, or else the head.
    @_disfavoredOverload @discardableResult
    public func skipHead(of queue: QueueName, reason: String? = nil) async throws(SluiceError) -> HeadSkip {
        try await skipHead(of: queue, only: nil, reason: reason)
    }

    /// Ends the waits for retries in all queues, or in those of a pattern.
    @_disfavoredOverload
    @discardableResult public func retryNow() async throws(SluiceError) -> Int { try await retryNow(.all) }

    /// Holds the queues of a pattern until the hold is ended.
    @_disfavoredOverload @discardableResult
    public func hold(_ pattern: QueuePattern, by holder: String) async throws(SluiceError) -> HoldID {
        try await hold(pattern, by: holder, reason: "", for: nil)
    }

    /// Opens a gate at once, until the file is opened again.
    @_disfavoredOverload public func openGate(_ name: GateName) async throws(SluiceError) {
        try await openGate(name, isKept: false, spread: .zero)
    }

    /// Closes a gate until it is opened.
    @_disfavoredOverload
    public func closeGate(_ name: GateName, isKept: Bool = false) async throws(SluiceError) {
        try await closeGate(name, isKept: isKept, for: nil)
    }

    /// The first hundred dead letters of a pattern.
    @_disfavoredOverload
    public func deadLetters(_ pattern: QueuePattern = .all) async throws(SluiceError) -> [DeadLetter] {
        try await deadLetters(pattern, cause: nil, after: nil, limit: 100)
    }
}

extension Broker: ActionBroker {}
