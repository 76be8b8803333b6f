#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Edits of one action, while the broker runs or not.
///
/// What runs is not touched: an edit applies to its next attempt, a move when its attempt ends. A dead letter
/// is ``ActionChange/missing``: put it back first.
extension Broker {
    /// Moves an action to another queue, where its sort key and number give it its place.
    ///
    /// It keeps its attempts and its wait. If it had parked its queue, that goes on. A deduplication key goes
    /// along, and is taken from an action of the other queue that has the same.
    ///
    /// - Returns: ``ActionChange/deferred`` while it runs: it moves when its attempt ends, if it is still
    ///   there then, be the other queue full by that time or not.
    /// - Throws: ``SluiceError/Code/queueFull`` when the other queue holds as many actions as its options
    ///   allow; ``SluiceError/Code/sortKeyMismatch`` when it has another type of sort key;
    ///   ``SluiceError/Code/invalidQueueName``.
    @discardableResult
    public func move(_ action: ActionID, to queue: QueueName) async throws(SluiceError) -> ActionChange {
        try queue.validateForActions()
        return try await store.move(action, to: queue, queueOptions(of: queue))
    }

    /// Makes an action the next to start of what waits in its queue, whatever the queue's discipline.
    ///
    /// It changes the sort key: the action gets that of the first, if its own number is smaller, and
    /// otherwise the next smaller one; a text is shortened by its last character. In a queue in order of
    /// arrival the key goes below zero. In a queue that runs its last first it is the key of the last, if the
    /// action's number is greater, and otherwise the next greater one; a text gets a character more. A pass
    /// through a queue begins anew at the front. A wait for a retry stays and is that of the head from now
    /// on; an action that was scheduled for later is due at once.
    ///
    /// - Returns: ``ActionChange/running`` while it runs: nothing has been changed.
    /// - Throws: ``SluiceError/Code/noSmallerSortKey`` when the first has the smallest key that there is,
    ///   such as an empty text, or the last the greatest where that is the next.
    @discardableResult
    public func moveToFront(_ action: ActionID) async throws(SluiceError) -> ActionChange {
        let change = try await store.moveToFront(action, by: routes.admission.queues)
        if change == .done { scheduler.hasten(.admitScheduled) }
        return change
    }

    /// Gives an action another payload, and the kind of its type.
    ///
    /// Queue, place and attempts stay, whatever the new value says. If it was parked as undecodable, or its
    /// kind unknown, it is tried again.
    ///
    /// - Parameter ifRunning: What becomes of it while the action runs: an attempt does not see an edit,
    ///   and if it succeeds the action goes, with the edit. That is told as ``QueueEvent/Kind/editLost``
    ///   and logged.
    /// - Returns: ``ActionChange/deferred`` while it runs; with ``EditWhileRunning/refuse``
    ///   ``ActionChange/running``, and nothing has been changed.
    /// - Throws: ``SluiceError/Code/payloadNotEncodable``, ``SluiceError/Code/payloadTooLarge``.
    @discardableResult
    public func edit<A: Action>(
        _ action: ActionID,
        to new: A,
        ifRunning: EditWhileRunning = .next
    ) async throws(SluiceError) -> ActionChange {
        try validateKind(A.kind)
        return try await store.edit(
            action,
            kind: A.kind,
            payload: coder.stored(new),
            version: A.version,
            ifRunning: ifRunning
        )
    }

    /// Gives an action another payload as JSON text, of the kind and version that it has.
    ///
    /// See ``edit(_:to:ifRunning:)``.
    ///
    /// - Throws: ``SluiceError/Code/payloadNotJSON``, ``SluiceError/Code/payloadTooLarge``,
    ///   ``SluiceError/Code/payloadNotSealed``.
    @discardableResult
    public func edit(
        _ action: ActionID,
        payload: String,
        ifRunning: EditWhileRunning = .next
    ) async throws(SluiceError) -> ActionChange {
        try coder.check(RawAction(queue: "", kind: "", payload: payload))
        guard coder.sealing != nil else {
            return try await store.edit(
                action,
                kind: nil,
                payload: payload,
                version: nil,
                ifRunning: ifRunning
            )
        }
        return try await store.edit(action, ifRunning: ifRunning) { [coder] kind, version in
            try coder.seal(payload, SealingContext(kind: kind, version: version))
        }
    }

    /// Takes an action out of its queue's order until a time, or gives it its place now.
    ///
    /// What stands behind it goes on meanwhile. A wait for a retry, and a parking that it has caused, stay.
    ///
    /// - Parameters:
    ///   - action: It waits, or is scheduled for later.
    ///   - date: When it gets its place; `nil`, and a time that has passed, is now.
    /// - Returns: ``ActionChange/running`` while it runs: nothing has been changed.
    @discardableResult
    public func reschedule(
        _ action: ActionID,
        notBefore date: Date?
    ) async throws(SluiceError) -> ActionChange {
        let change = try await store.reschedule(action, notBefore: date.map(Timestamp.init))
        if change == .done { admitScheduled(isNeeded: true) }
        return change
    }

    /// Sets or clears the time after which an action is not started any more.
    ///
    /// See ``EnqueueOptions/expiresAt``.
    ///
    /// - Returns: ``ActionChange/deferred`` while it runs: its attempt is not touched.
    @discardableResult
    public func setExpiry(_ action: ActionID, _ date: Date?) async throws(SluiceError) -> ActionChange {
        let time = date.map(Timestamp.init)
        let change = try await store.setExpiry(action, time)
        if let time, change != .missing { scheduleSweep(at: time) }
        return change
    }

    /// Sets or clears the tag of an action; at once, while it runs too.
    ///
    /// - Throws: ``SluiceError/Code/invalidOptions`` when the tag is outside its limits.
    @discardableResult
    public func setTag(_ action: ActionID, _ tag: String?) async throws(SluiceError) -> ActionChange {
        if let tag { try EnqueueOptions.validate(tag: tag) }
        return try await store.setTag(action, tag)
    }

    /// Sets the action that has parked a queue aside as a dead letter, or else the head, and lets the next
    /// one through.
    ///
    /// The action that has parked the queue is the one that ``Because/parked(by:cause:error:since:)``
    /// names. It is meant also where an action that sorts before it has arrived since, or others run
    /// beside it. In a queue that is not parked the head is the next to start by the queue's discipline.
    ///
    /// - Parameters:
    ///   - queue: The queue.
    ///   - reason: The dead letter's error.
    /// - Returns: ``HeadSkip/running(_:)`` while the head runs: nothing has been changed; cancel it instead.
    @discardableResult
    public func skipHead(
        of queue: QueueName,
        reason: String = "skipped"
    ) async throws(SluiceError) -> HeadSkip {
        try queue.validate()
        return try await store.skipHead(
            of: queue,
            error: reason,
            by: routes.admission.queues.saidDiscipline(of: queue)
        )
    }
}

/// What becomes of an edit of an action that runs.
public enum EditWhileRunning: Sendable, Hashable {
    /// It is stored, for the next attempt; if this one succeeds there is none.
    case next
    /// Nothing is changed.
    case refuse
}

/// What became of an edit.
public enum ActionChange: Sendable, Hashable {
    /// It is in the file, and holds.
    case done
    /// The action runs. The change is in the file, and holds when its attempt has ended.
    case deferred
    /// The action runs, and nothing has been changed.
    case running
    /// There is no such action: it never was, it has been settled, or it is a dead letter.
    case missing
}

/// What became of the skipping of a head.
public enum HeadSkip: Sendable, Hashable {
    /// This action has become a dead letter.
    case skipped(ActionID)
    /// This action runs: nothing has been changed.
    case running(ActionID)
    /// Nothing waits in the queue's order.
    case empty
}
