/// Holds: an operator's pause of a queue, of those with a prefix, or of everything.
///
/// They stand in the file, so that they outlast the process, and each has its holder and reason. While one
/// covers a queue nothing of it starts; what runs goes on. ``retryNow(_:)`` overrides none.
extension Broker {
    /// Holds the queues of a pattern.
    ///
    /// - Parameters:
    ///   - pattern: Which queues.
    ///   - holder: Who holds, as others are to see it; at most 255 characters.
    ///   - reason: Why; at most 1,000 characters. It should not repeat a payload.
    ///   - duration: How long, by the wall clock; `nil` is until ``endHold(_:)``. A clock that is set back
    ///     before the hold's beginning has it last so long anew.
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

    /// Ends a hold: queues that no other one covers move again.
    ///
    /// - Returns: Whether it stood.
    @discardableResult
    public func endHold(_ hold: HoldID) async throws(SluiceError) -> Bool {
        try await store.endHold(hold)
    }

    /// Ends the holds of a pattern.
    ///
    /// - Parameters:
    ///   - pattern: The pattern that was held, as it was given: to name one queue of a prefix that is held
    ///     ends nothing.
    ///   - holder: Whose; `nil` is everybody's.
    /// - Returns: How many stood.
    @discardableResult
    public func endHolds(
        matching pattern: QueuePattern,
        by holder: String? = nil
    ) async throws(SluiceError) -> Int {
        try await store.endHolds(matching: pattern, by: holder)
    }

    /// The holds that stand, the oldest first.
    public func holds() async throws(SluiceError) -> [Hold] {
        try await store.holds()
    }
}
