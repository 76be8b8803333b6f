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

    /// Moves an action to the front of its queue, so that it is the next to start.
    ///
    /// It changes the sort key: the action gets that of the first, if its own number is smaller, and
    /// otherwise the next smaller one; a text is shortened by its last character. In a queue in order of
    /// arrival the key goes below zero. A wait for a retry stays and is that of the head from now on; an
    /// action that was scheduled for later is due at once.
    ///
    /// - Returns: ``ActionChange/running`` while it runs: nothing has been changed.
    /// - Throws: ``SluiceError/Code/noSmallerSortKey`` when the first has the smallest key that there is,
    ///   such as an empty text.
    @discardableResult
    public func moveToFront(_ action: ActionID) async throws(SluiceError) -> ActionChange {
        let change = try await store.moveToFront(action)
        if change == .done { scheduler.hasten(.admitScheduled) }
        return change
    }

    /// Gives an action another payload, and the kind of its type.
    ///
    /// Queue, place and attempts stay, whatever the new value says. If it was parked as undecodable, or its
    /// kind unknown, it is tried again.
    ///
    /// - Throws: ``SluiceError/Code/payloadNotEncodable``, ``SluiceError/Code/payloadTooLarge``.
    @discardableResult
    public func edit<A: Action>(_ action: ActionID, to new: A) async throws(SluiceError) -> ActionChange {
        try validateKind(A.kind)
        return try await store.edit(action, kind: A.kind, payload: coder.stored(new), version: A.version)
    }

    /// Gives an action another payload as JSON text, of the kind and version that it has.
    ///
    /// See ``edit(_:to:)``.
    ///
    /// - Throws: ``SluiceError/Code/payloadNotJSON``, ``SluiceError/Code/payloadTooLarge``,
    ///   ``SluiceError/Code/payloadNotSealed``.
    @discardableResult
    public func edit(_ action: ActionID, payload: String) async throws(SluiceError) -> ActionChange {
        try coder.check(RawAction(queue: "", kind: "", payload: payload))
        guard coder.sealing != nil else {
            return try await store.edit(action, kind: nil, payload: payload, version: nil)
        }
        return try await store.edit(action) { [coder] kind, version in
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

    /// Sets the head of a queue aside as a dead letter and lets the next one through, also where the head
    /// has parked its queue.
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
        return try await store.skipHead(of: queue, error: reason)
    }
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
