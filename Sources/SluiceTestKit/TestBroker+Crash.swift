public import Sluice
internal import Synchronization

/// A crash of the process, in a test.
extension TestBroker {
    /// Crashes the broker, and opens a new one on the same file, as after a `kill -9` of the process.
    ///
    /// Memory is lost, and outcomes of running handlers are not written: their actions run again, with the
    /// same idempotency keys. Set-up is called again; a test must add its other routes again. Settings of the
    /// test, such as ``holdAttempts(heedingCancellation:)``, stay, and so does the clock.
    ///
    /// Tasks of handlers cannot be killed: they are cancelled, and what they still do is as if it was done
    /// before the crash. Waiting calls on the old broker throw `closed`. Do not call it in a handler.
    ///
    /// - Parameter action: If given, the queues run until the handler of this action has returned, and the
    ///   crash comes before its outcome is written.
    /// - Throws: ``Stuck`` if that handler cannot return, or has returned for good; errors of `Broker.run()`,
    ///   of the set-up and of the file.
    /// - Precondition: The storage is ``Storage/file``, since nothing in memory survives a crash.
    public func crash(afterHandlerOf action: ActionID? = nil) async throws {
        precondition(file != nil, "nothing in memory survives a crash: make a TestBroker(.file)")
        if let action {
            turnstile.haltAfter(action)
            do { try await waitForHalt(after: action) } catch {
                turnstile.haltAfter(nil)
                throw error
            }
        }
        let old = state.withLock { state in
            state.run = nil
            return state.broker
        }
        turnstile.abandon(through: await old.fileEngine.crash())
        await events.noteCrash()
        try await reopen()
        try await start()
    }

    /// Runs the queues until the turnstile has halted an attempt after its handler.
    private func waitForHalt(after action: ActionID) async throws {
        let run = try await begun()
        let broker = broker
        broker.fileEngine.lookForCommits()
        func isOver() -> Bool {
            broker.fileEngine.isAtRest(butFor: turnstile.heldCount) || !run.end.elements.isEmpty
        }
        while !turnstile.hasHalted {
            if isOver() { throw try await stuck(action) }
            try await restWaiters.wait { turnstile.hasHalted || isOver() }
        }
    }
}
