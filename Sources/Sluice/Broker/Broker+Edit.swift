#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Edits of one action, while the broker runs or not.
///
/// A running attempt is not changed: an edit applies to the next attempt, a move when the attempt ends. For a
/// dead letter the result is ``ActionChange/missing``: put it back first.
extension Broker {
    /// Moves an action to another queue, to the place of its sort key and number; attempts and wait stay.
    ///
    /// If it had parked its old queue, that queue continues. It keeps its deduplication key; if an action of
    /// the new queue has the same key, that action loses it. Returns ``ActionChange/deferred`` while the
    /// action runs: it moves when its attempt ends, if it still exists, even if the other queue is full.
    ///
    /// - Throws: ``SluiceError`` `queueFull` when the other queue holds as many actions as its options allow;
    ///   `sortKeyMismatch` when it has another type of sort key; `invalidQueueName`.
    @discardableResult
    public func move(_ action: ActionID, to queue: QueueName) async throws(SluiceError) -> ActionChange {
        try await perform(.move(action, to: queue)).outcome
    }

    /// Makes a waiting action the next to start in its queue, whatever the queue's discipline.
    ///
    /// The action gets a new sort key, by the rules of <doc:QueueHandles>; in a queue in order of arrival the
    /// key becomes negative. A pass through a queue restarts at the front. A wait for a retry stays, and the
    /// queue then waits for it. An action that was scheduled for later is due at once. Returns
    /// ``ActionChange/running`` while the action runs: nothing has been changed. Throws
    /// ``SluiceError/Code/noSmallerSortKey`` when no key would make it the next, as before an empty text.
    @discardableResult
    public func moveToFront(_ action: ActionID) async throws(SluiceError) -> ActionChange {
        try await perform(.moveToFront(action)).outcome
    }

    /// Replaces an action's payload, and its kind by that of the new type; queue, place and attempts stay.
    ///
    /// If the action was parked because its payload did not decode or its kind was unknown, it is tried
    /// again. An edit of a running action is ``ActionChange/deferred``; if its attempt succeeds, the edit is
    /// lost with it, which is logged and reported as ``QueueEvent/Kind/editLost``. With
    /// ``EditWhileRunning/refuse`` nothing is changed, and the result ``ActionChange/running``. Throws
    /// ``SluiceError`` `payloadNotEncodable`, `payloadTooLarge`.
    @discardableResult
    public func edit<A: Action>(
        _ action: ActionID,
        to new: A,
        ifRunning: EditWhileRunning = .forNextAttempt
    ) async throws(SluiceError) -> ActionChange {
        try validateKind(A.kind)
        let payload = NewPayload.typed(kind: A.kind, payload: try book.coder.stored(new), version: A.version)
        return try await perform(.edit(action, to: payload, replacing: nil, ifRunning: ifRunning)).outcome
    }

    /// Replaces an action's payload with JSON text of its kind and version, as ``edit(_:to:ifRunning:)``.
    ///
    /// Throws ``SluiceError`` `payloadNotJSON`, `payloadTooLarge`, `payloadNotSealed`.
    ///
    /// `old` is the payload that the editor was shown (``ActionState/Details/payload``). If another one is
    /// stored, nothing is changed, and the result is ``ActionChange/conflict``. `nil` replaces any.
    @discardableResult
    public func edit(
        _ action: ActionID,
        payload: String,
        replacing old: String? = nil,
        ifRunning: EditWhileRunning = .forNextAttempt
    ) async throws(SluiceError) -> ActionChange {
        try await perform(.edit(action, to: .text(payload), replacing: old, ifRunning: ifRunning)).outcome
    }

    /// Schedules an action for later, or makes a scheduled action due now, with a past date or `nil`.
    ///
    /// Until then, the actions after it can run. A wait for a retry stays, and so does a parking that the
    /// action has caused. Returns ``ActionChange/running`` while the action runs: nothing has been changed.
    @discardableResult
    public func reschedule(_ action: ActionID, notBefore: Date?) async throws(SluiceError) -> ActionChange {
        try await perform(.reschedule(action, notBefore: notBefore.map(Timestamp.init))).outcome
    }

    /// Sets or clears the expiry of an action (``EnqueueOptions/expiresAt``).
    ///
    /// Returns ``ActionChange/deferred`` while the action runs: its attempt is not affected.
    @discardableResult
    public func setExpiry(_ date: Date?, of action: ActionID) async throws(SluiceError) -> ActionChange {
        try await perform(.setExpiry(action, date.map(Timestamp.init))).outcome
    }

    /// Sets or clears the tag of an action at once, also while it runs.
    ///
    /// Throws ``SluiceError/Code/invalidOptions`` when the tag is outside its limits.
    @discardableResult
    public func setTag(_ tag: String?, of action: ActionID) async throws(SluiceError) -> ActionChange {
        try await perform(.setTag(action, tag)).outcome
    }

    /// Makes the action that has parked a queue a dead letter, or else the head, and lets the queue continue.
    ///
    /// The action in ``WaitReason/parked(by:cause:error:since:)`` is skipped even if an action that sorts
    /// before it has arrived since, or others run beside it. The head is the next action to start by the
    /// queue's discipline. `reason` becomes the dead letter's error; without one the action's last error
    /// stays. Returns ``HeadSkip/running(_:)`` while the head runs: nothing has been changed; cancel it
    /// instead.
    ///
    /// `action` is the one that the operator was shown (``QueueStatus/actionToSkip``). If another one would
    /// be skipped, nothing is changed, and the result is ``HeadSkip/other(_:)``. `nil` skips any.
    @discardableResult
    public func skipHead(
        of queue: QueueName,
        only action: ActionID? = nil,
        reason: String? = nil
    ) async throws(SluiceError) -> HeadSkip {
        HeadSkip(try await perform(.skipHead(of: queue, only: action, reason: reason)))
    }
}
