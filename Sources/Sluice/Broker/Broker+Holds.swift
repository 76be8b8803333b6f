/// Holds: an operator's pause of one queue, of all queues with a prefix, or of everything.
///
/// Holds are stored in the file and survive the process; each has a holder and a reason. While a hold covers
/// a queue, no action of the queue starts; running actions continue. ``retryNow(_:)`` does not override
/// holds.
extension Broker {
    /// Holds the queues of a pattern.
    ///
    /// - Parameters:
    ///   - pattern: The queues.
    ///   - holder: The name of the holder, for display; at most 255 characters.
    ///   - reason: The reason; at most 1,000 characters. It should not repeat a payload.
    ///   - duration: How long, by the wall clock; `nil` is until ``endHold(_:)``. If the clock is set back
    ///     before the hold's beginning, the duration starts again.
    /// - Returns: The number of the hold.
    /// - Throws: ``SluiceError/Code/invalidPattern``, ``SluiceError/Code/invalidQueueName``,
    ///   ``SluiceError/Code/invalidOptions`` for texts that are too long, and errors of the file.
    @discardableResult
    public func hold(
        _ pattern: QueuePattern,
        by holder: String,
        reason: String = "",
        for duration: Duration? = nil
    ) async throws(SluiceError) -> HoldID {
        _ = try pattern.form()
        guard holder.unicodeScalars.count <= 255, reason.unicodeScalars.count <= 1_000 else {
            throw SluiceError(
                .invalidOptions,
                "a hold's holder has more than 255 characters, or its reason more than 1,000"
            )
        }
        return try await store.hold(pattern, by: holder, reason: reason, for: duration)
    }

    /// Ends a hold, so that queues without another hold continue.
    ///
    /// - Returns: Whether there was such a hold.
    @discardableResult
    public func endHold(_ hold: HoldID) async throws(SluiceError) -> Bool {
        try await store.endHold(hold)
    }

    /// Ends the holds of a pattern.
    ///
    /// - Parameters:
    ///   - pattern: The same pattern that was held. The name of one queue does not end a hold on a prefix.
    ///   - holder: Only holds of this holder; `nil` is all.
    /// - Returns: How many holds were ended.
    @discardableResult
    public func endHolds(
        matching pattern: QueuePattern,
        by holder: String? = nil
    ) async throws(SluiceError) -> Int {
        try await store.endHolds(matching: pattern, by: holder)
    }

    /// Returns the current holds, the oldest first.
    public func holds() async throws(SluiceError) -> [Hold] {
        try await store.holds()
    }
}
