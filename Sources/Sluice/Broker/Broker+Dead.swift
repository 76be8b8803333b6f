#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Dead letters: actions that were set aside, with the errors of their attempts.
extension Broker {
    /// Dead letters, the newest first.
    ///
    /// ```swift
    /// var page = try await broker.deadLetters("conversation/*")
    /// while let last = page.last {
    ///     …
    ///     page = try await broker.deadLetters("conversation/*", after: last)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - pattern: Of which queues.
    ///   - cause: Set aside for this cause; `nil` is any.
    ///   - last: The last one of the page before; those that die meanwhile are on no later page.
    ///   - limit: The most that are read; each carries its payload.
    public func deadLetters(
        _ pattern: QueuePattern = .all,
        cause: DeadLetterCause? = nil,
        after last: DeadLetter? = nil,
        limit: Int = 100
    ) async throws(SluiceError) -> [DeadLetter] {
        try await store.deadLetters(
            DeadLetterFilter(form: pattern.form(), cause: cause),
            after: last.map { (Timestamp($0.diedAt), $0.id) },
            limit: limit
        )
    }

    /// One dead letter; `nil` when there is none of this number.
    public func deadLetter(_ action: ActionID) async throws(SluiceError) -> DeadLetter? {
        try await store.deadLetter(action)
    }

    /// The attempts of an action that did not succeed, the oldest first: of a dead letter, and of one that
    /// waits or runs.
    ///
    /// The newest fifty are kept.
    public func failedAttempts(of action: ActionID) async throws(SluiceError) -> [FailedAttempt] {
        try await store.failedAttempts(of: action)
    }

    /// Puts a dead letter back into its queue, at the place that its sort key and number give it, with no
    /// attempt spent.
    ///
    /// It expires no more. The depth that a queue's options allow does not hold it back: it had its place.
    ///
    /// - Returns: Whether there was such a dead letter.
    /// - Throws: ``SluiceError/Code/sortKeyMismatch`` when the queue has since taken another type of sort
    ///   key.
    @discardableResult
    public func requeue(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await store.requeue(action)
    }

    /// Puts a dead letter back into its queue behind all that it holds now.
    ///
    /// In the order of arrival the number is the place, so that it gets a new number, and with it another
    /// idempotency key: the server will not know it again. Where the queue holds larger sort keys it gets the
    /// largest of them.
    ///
    /// - Returns: The new number; `nil` when there was no such dead letter.
    /// - Throws: As ``requeue(_:)``.
    @discardableResult
    public func requeueAtEnd(_ action: ActionID) async throws(SluiceError) -> ActionID? {
        try await store.requeueAtEnd(action)
    }

    /// Puts the dead letters of a pattern back, each at its old place.
    ///
    /// They go in batches of several hundred. Those that die meanwhile with a higher number are not meant;
    /// those whose queue has taken another type of sort key stay what they are.
    ///
    /// - Parameters:
    ///   - pattern: Of which queues.
    ///   - cause: Set aside for this cause; `nil` is any.
    /// - Returns: How many went back.
    @discardableResult
    public func requeueAll(
        _ pattern: QueuePattern,
        cause: DeadLetterCause? = nil
    ) async throws(SluiceError) -> Int {
        try await requeueLetters(pattern, cause: cause).count
    }

    /// The same, and says what stays and why.
    package func requeueLetters(
        _ pattern: QueuePattern,
        cause: DeadLetterCause?
    ) async throws(SluiceError) -> RequeuedLetters {
        let filter = DeadLetterFilter(form: try pattern.form(), cause: cause)
        var letters = RequeuedLetters()
        var page: CancelPage? = CancelPage(through: try await store.lastDeadLetter())
        while let current = page {
            let (requeued, next) = try await store.requeue(filter, current)
            letters.add(requeued)
            page = next
        }
        return letters
    }

    /// Removes a dead letter for ever, with its history.
    ///
    /// - Returns: Whether there was such a dead letter.
    @discardableResult
    public func purge(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await store.purge(action)
    }

    /// Removes dead letters for ever, the oldest first, with their histories, in batches of several hundred.
    ///
    /// ```swift
    /// try await broker.purgeDeadLetters(diedBefore: monthAgo, keepingNewest: 1_000)
    /// ```
    ///
    /// - Parameters:
    ///   - pattern: Of which queues.
    ///   - cause: Set aside for this cause; `nil` is any.
    ///   - date: Those that were set aside earlier; `nil` is all.
    ///   - count: So many of the newest of them stay, however old; those that die meanwhile stay too.
    /// - Returns: How many have gone.
    @discardableResult
    public func purgeDeadLetters(
        _ pattern: QueuePattern = .all,
        cause: DeadLetterCause? = nil,
        diedBefore date: Date? = nil,
        keepingNewest count: Int = 0
    ) async throws(SluiceError) -> Int {
        let filter = DeadLetterFilter(form: try pattern.form(), cause: cause)
        guard let last = try await store.deadLetter(filter, behind: max(count, 0)) else { return 0 }
        var purged = 0
        while true {
            let batch = try await store.purge(
                filter,
                diedBefore: date.map(Timestamp.init),
                through: last
            )
            purged += batch
            if batch < DeadLetters.batchSize { return purged }
        }
    }
}
