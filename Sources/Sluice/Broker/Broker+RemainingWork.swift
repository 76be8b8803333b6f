extension Broker {
    /// Returns the work that the file has for this broker by time alone, whether the broker runs or not.
    ///
    /// ```swift
    /// if case .later(let delay) = try await broker.remainingWork() { wakeUpAgain(after: delay) }
    /// ```
    ///
    /// Actions without a route in this broker do not count, nor actions that another process runs. If a head
    /// waits for a gate or a retry and expires first, its expiry counts, unless its route's policy for
    /// ``FailureCause/expired`` is to block. Throws errors of the file.
    public func remainingWork() async throws(SluiceError) -> RemainingWork {
        try await engine.workLeft(book.patterns, isEnough: true).next
    }
}
