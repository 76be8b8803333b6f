public import Sluice

/// Waiting until nothing moves, without a sleep.
extension TestBroker {
    /// Runs the queues until nothing can continue before time passes, a gate opens, or other code acts.
    ///
    /// Held attempts stay held and count as waiting. Running handlers are waited for, as long as they take.
    /// Earlier commits of other connections are processed.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, such as by a test's time limit; errors of
    ///   `Broker.run()`.
    public func drain() async throws {
        let run = try await begun()
        let broker = broker
        broker.fileEngine.lookForCommits()
        func isAtRest() -> Bool { broker.fileEngine.isAtRest(butFor: turnstile.heldCount) }
        while !isAtRest() {
            if let end = run.end.elements.first {
                try end.get()
                break
            }
            try await restWaiters.wait { isAtRest() || !run.end.elements.isEmpty }
        }
        try Task.checkCancellation()
        await events.catchUp()
    }

    /// Drains, and lets time pass: advances the clock from one due time to the next, up to the duration.
    ///
    /// - Parameter duration: The total time that passes.
    /// - Throws: As ``drain()``.
    public func drain(for duration: Duration) async throws {
        try await drain()
        let end = clock.uptime + duration
        while let time = try await nextDueTime(), time < end {
            clock.advance(by: time - clock.uptime)
            try await drain()
        }
        clock.advance(by: max(end - clock.uptime, .zero))
        try await drain()
    }

    /// Returns when something is due next by time alone.
    private func nextDueTime() async throws -> Duration? {
        // The file knows actions scheduled for years ahead, the scheduler those that are due beside held
        // ones.
        guard turnstile.heldCount == 0 else { return broker.fileEngine.nextDueTime }
        guard case .later(let delay) = try await broker.remainingWork() else {
            return broker.fileEngine.nextQueueTime
        }
        // A wait is never longer than requested, which the file does not show after the wall clock was set
        // back.
        return [clock.uptime + delay, broker.fileEngine.nextQueueTime].compactMap { $0 }.min()
    }

    /// Opens a gate, and drains.
    ///
    /// - Throws: As ``drain()`` and `Broker.openGate(_:isPersistent:spread:)`.
    public func openGate(_ gate: GateName) async throws {
        try await broker.openGate(gate)
        try await drain()
    }

    /// Closes a gate, and drains.
    ///
    /// - Throws: As ``drain()`` and `Broker.closeGate(_:isPersistent:for:)`.
    public func closeGate(_ gate: GateName) async throws {
        try await broker.closeGate(gate)
        try await drain()
    }
}

/// Holding attempts before their handlers.
extension TestBroker {
    /// Holds new attempts before their handlers, until they are released one by one.
    ///
    /// - Parameter heedsCancellation: Whether a held attempt that is cancelled, by a timeout or because its
    ///   action was cancelled, ends at once with `CancellationError`. Otherwise it stays held, as with a
    ///   handler that ignores its cancellation. A ``stop()`` ends it in either case.
    public func holdAttempts(heedingCancellation heedsCancellation: Bool = true) {
        turnstile.hold(heedsCancellation)
    }

    /// Releases all held attempts, and holds no new ones.
    public func letAttemptsGo() {
        turnstile.letAllGo()
    }

    /// The held attempts, in the order in which their actions were claimed.
    public var heldAttempts: [Attempt] { turnstile.held }

    /// Releases the held attempt that was claimed first to its handler, and drains.
    ///
    /// The first step begins to hold attempts: see ``holdAttempts(heedingCancellation:)``.
    ///
    /// - Returns: That attempt; `nil` when nothing can start before time passes.
    /// - Throws: As ``drain()``.
    @discardableResult
    public func step() async throws -> Attempt? {
        if !turnstile.isHolding { turnstile.hold(true) }
        try await drain()
        guard let first = turnstile.held.first else { return nil }
        turnstile.letGo(first.id, .run)
        try await drain()
        return first
    }

    /// Ends a held attempt with an outcome instead of its handler's, and drains.
    ///
    /// - Returns: Whether it was held.
    /// - Throws: As ``drain()``.
    @discardableResult
    public func finish(_ action: ActionID, with outcome: Outcome = .success) async throws -> Bool {
        let wasHeld = turnstile.letGo(action, .end(.success(outcome)))
        try await drain()
        return wasHeld
    }

    /// Ends a held attempt as if its handler had thrown, and drains.
    ///
    /// - Returns: Whether it was held.
    /// - Throws: As ``drain()``; not the given error.
    @discardableResult
    public func finish(_ action: ActionID, throwing error: any Error) async throws -> Bool {
        let wasHeld = turnstile.letGo(action, .end(.failure(error)))
        try await drain()
        return wasHeld
    }
}
