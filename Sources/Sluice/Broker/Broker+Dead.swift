#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Dead letters: actions that failed for good, with the errors of their attempts.
extension Broker {
    /// Returns dead letters with their payloads, the newest first.
    ///
    /// ```swift
    /// var page = try await broker.deadLetters("conversation/*")
    /// while let last = page.last {
    ///     …
    ///     page = try await broker.deadLetters("conversation/*", after: last)
    /// }
    /// ```
    ///
    /// Dead letters created in the meantime are on no later page.
    public func deadLetters(
        _ pattern: QueuePattern = .all,
        cause: FailureCause? = nil,
        after last: DeadLetter? = nil,
        limit: Int = 100
    ) async throws(SluiceError) -> [DeadLetter] {
        let filter = DeadLetterFilter(form: try pattern.form(), cause: cause)
        guard limit > 0 else { return [] }
        let place = last.map { DeadLetterPlace(diedAt: Timestamp($0.diedAt), id: $0.id) }
        return try await engine.deadLetters(filter, after: place, limit: limit)
    }

    /// Returns a dead letter; `nil` when there is none with this number.
    public func deadLetter(_ action: ActionID) async throws(SluiceError) -> DeadLetter? {
        try await engine.deadLetter(action)
    }

    /// Returns the failed attempts of an action or dead letter, the oldest first; the newest fifty are kept.
    public func failedAttempts(of action: ActionID) async throws(SluiceError) -> [FailedAttempt] {
        try await engine.failedAttempts(of: action)
    }

    /// Puts a dead letter back at its old place, with no attempt spent; returns whether there was one.
    ///
    /// It is due at once: its expiry and its scheduled time are dropped. The queue's depth limit does not
    /// apply. Throws ``SluiceError/Code/sortKeyMismatch`` when the queue now has another type of sort key.
    @discardableResult
    public func requeue(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await perform(.requeue(action)).outcome == .done
    }

    /// Puts a dead letter back at the end of its queue; throws as ``requeue(_:)`` does.
    ///
    /// In the order of arrival the number is the place. So the action gets a new number, which is returned,
    /// and a new idempotency key, and the server cannot recognize it as a repetition. If the queue holds
    /// larger sort keys, the action gets the largest of them.
    @discardableResult
    public func requeueAtEnd(_ action: ActionID) async throws(SluiceError) -> ActionID? {
        try await perform(.requeueAtEnd(action)).action
    }

    /// Puts the dead letters of a pattern back, each at its old place, in batches; returns how many.
    ///
    /// Dead letters created during the call with a higher number are not included. A dead letter stays if its
    /// queue now has another type of sort key.
    @discardableResult
    public func requeueAll(
        _ pattern: QueuePattern,
        cause: FailureCause? = nil
    ) async throws(SluiceError) -> Int {
        try await perform(.requeueAll(DeadLetterFilter(form: pattern.form(), cause: cause))).done
    }

    /// Deletes a dead letter with its history; returns whether there was one.
    @discardableResult
    public func purge(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await perform(.purge(action)).outcome == .done
    }

    /// Deletes dead letters with their histories, the oldest first, in batches; returns how many.
    ///
    /// ```swift
    /// try await broker.purgeDeadLetters(diedBefore: monthAgo, keepingNewest: 1_000)
    /// ```
    ///
    /// `count` of the newest are kept, whatever their age, besides those created during the call.
    @discardableResult
    public func purgeDeadLetters(
        _ pattern: QueuePattern = .all,
        cause: FailureCause? = nil,
        diedBefore date: Date? = nil,
        keepingNewest count: Int = 0
    ) async throws(SluiceError) -> Int {
        let filter = DeadLetterFilter(form: try pattern.form(), cause: cause)
        let time = date.map(Timestamp.init)
        return try await perform(.purgeAll(filter, diedBefore: time, keepingNewest: max(count, 0))).done
    }
}
