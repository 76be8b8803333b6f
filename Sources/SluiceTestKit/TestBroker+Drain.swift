public import Sluice
internal import Synchronization

/// Waiting until nothing moves, without a sleep.
extension TestBroker {
    /// Runs the queues until nothing can go on before time passes, a gate opens, or somebody does something.
    ///
    /// Attempts that are held stay so: they count as waiting. A handler that runs is waited for, as long as
    /// it takes. What other connections have committed before the call is taken in.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, as by a test's time limit; what
    ///   `Broker.run()` throws.
    public func drain() async throws {
        let run = try await begun()
        let broker = broker
        broker.lookForCommits()
        func isAtRest() -> Bool { broker.isAtRest(butFor: turnstile.heldCount) }
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

    /// Drains, and lets time pass: the clock goes from one time at which something is due to the next, and
    /// ends a duration later.
    ///
    /// - Parameter duration: The time that passes altogether.
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

    /// When something is due next that time alone brings.
    private func nextDueTime() async throws -> Duration? {
        // The file knows what is scheduled for years ahead, the scheduler what is due beside what is held.
        guard turnstile.heldCount == 0 else { return broker.nextDueTime }
        guard case .later(let delay) = try await broker.remainingWork() else { return broker.nextQueueTime }
        // A wait is never longer than was asked, which the file does not tell when the wall clock has gone
        // back.
        return [clock.uptime + delay, broker.nextQueueTime].compactMap { $0 }.min()
    }

    /// Opens a gate, and drains.
    ///
    /// - Throws: As ``drain()`` and `Broker.openGate(_:isKept:spread:)`.
    public func openGate(_ gate: GateName) async throws {
        try await broker.openGate(gate)
        try await drain()
    }

    /// Closes a gate, and drains.
    ///
    /// - Throws: As ``drain()`` and `Broker.closeGate(_:isKept:)`.
    public func closeGate(_ gate: GateName) async throws {
        try await broker.closeGate(gate)
        try await drain()
    }
}

/// Holding attempts before their handlers.
extension TestBroker {
    /// Holds attempts that begin from now on before their handlers, until they are let go one by one.
    ///
    /// - Parameter heedsCancellation: Whether an attempt that is cancelled while it is held, by a timeout or
    ///   because its action was cancelled, ends at once, with `CancellationError`; otherwise it is held on,
    ///   as by a handler that does not heed its cancellation. A ``stop()`` ends it in either case.
    public func holdAttempts(heedingCancellation heedsCancellation: Bool = true) {
        turnstile.hold(heedsCancellation)
    }

    /// Lets all attempts go that are held, and holds none from now on.
    public func letAttemptsGo() {
        turnstile.letAllGo()
    }

    /// The attempts that are held, in the order in which their actions were claimed.
    public var heldAttempts: [Attempt] { turnstile.held }

    /// Lets the attempt that was claimed first go to its handler, and drains.
    ///
    /// From the first step on attempts are held: see ``holdAttempts(heedingCancellation:)``.
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

    /// Ends an attempt that is held, with an outcome in the place of its handler's, and drains.
    ///
    /// - Returns: Whether it was held.
    /// - Throws: As ``drain()``.
    @discardableResult
    public func finish(_ action: ActionID, with outcome: Outcome = .success) async throws -> Bool {
        let wasHeld = turnstile.letGo(action, .end(.success(outcome)))
        try await drain()
        return wasHeld
    }

    /// Ends an attempt that is held, as if its handler had thrown, and drains.
    ///
    /// - Returns: Whether it was held.
    /// - Throws: As ``drain()``; not the error that is given.
    @discardableResult
    public func finish(_ action: ActionID, throwing error: any Error) async throws -> Bool {
        let wasHeld = turnstile.letGo(action, .end(.failure(error)))
        try await drain()
        return wasHeld
    }
}
