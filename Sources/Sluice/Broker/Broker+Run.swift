extension Broker {
    /// Runs the queues until ``stop(grace:)`` is called or the task is cancelled.
    ///
    /// Every queue with work resumes, whoever enqueued it and when (G8). Actions that ran when an earlier
    /// process died are tried first, for ``BrokerOptions/crashTrialLimit`` at most (G7). Cancelling the task
    /// cancels running handlers at once. The call returns when all have returned, and can be repeated.
    ///
    /// Other processes may run the file's queues at the same time, with the same routes. If one dies, the
    /// others run its actions within about two seconds, or if they cannot detect that, after its lease of 30
    /// seconds.
    ///
    /// - Throws: ``SluiceError`` `alreadyRunning`, `wrongRole`, `closed`, and, also later, `fileReplaced` and
    ///   `newerSchema`; an error of the file. Being stopped or cancelled is a normal return.
    public func run() async throws { try await engine.run() }

    /// Stops the broker and waits until no handler runs.
    ///
    /// No action is claimed after this call. Running handlers may finish within the grace period, by default
    /// ``BrokerOptions/stopGrace``; then they are cancelled, and their actions released without spending an
    /// attempt. A handler that ignores its cancellation delays the return. If the process ends first, its
    /// action is a suspect at the next start.
    ///
    /// A ``run()`` that has not begun is not stopped: cancel its task. While the broker is suspended, the
    /// call returns only after ``BrokerFile/resume()``, because outcomes of handlers must be written. In a
    /// handler the call would wait for its own return, so it traps; there write
    /// `Task { await attempt.broker.stop() }`.
    public func stop(grace: Duration? = nil) async {
        runner.ensureNotInHandler("stop(grace:)")
        await beginStop(grace: grace)()
    }

    /// Begins ``stop(grace:)``: no action starts any more; returns a function that waits for the end.
    @discardableResult
    package func beginStop(grace: Duration? = nil) -> @Sendable () async -> Void {
        engine.beginStop(grace: grace ?? options.stopGrace)
    }

    /// Stops the broker and closes the file; later calls throw ``SluiceError/Code/closed``.
    ///
    /// A suspended broker opens its file once more to write pending outcomes. Routes and handlers are
    /// released. A handler must not wait for this call: see ``stop(grace:)``.
    public func close(grace: Duration? = nil) async {
        runner.ensureNotInHandler("close(grace:)")
        await engine.close(grace: grace ?? options.stopGrace)
    }
}
