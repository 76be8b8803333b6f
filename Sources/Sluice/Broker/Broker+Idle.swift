extension Broker {
    /// Waits until a running broker has nothing left to run or to wait for.
    ///
    /// The file decides: commits of other connections before the call count. What ends by itself is waited
    /// for, however late: a retry, a schedule, a hold or a closed gate with an end, as ``remainingWork()``
    /// counts them. Parked queues do not count, nor actions without a route in this broker, nor those held
    /// or at a closed gate until somebody acts. A wait of more than five seconds is logged once at `notice`.
    ///
    /// The call returns at once when the broker stops or the task is cancelled, after a ``run()`` that has
    /// thrown, and in a role that runs nothing. Before the first `run()` it waits for that, and while the
    /// broker is suspended for ``BrokerFile/resume()``. In a handler the call would wait for its own return:
    /// it traps.
    public func waitUntilIdle() async {
        runner.ensureNotInHandler("waitUntilIdle()")
        await engine.waitUntilIdle(book.patterns, within: nil) { $0.noteIfLong(options.logger) }
    }

    /// Waits until the queues of a pattern have nothing left to run or to wait for.
    ///
    /// Other queues may have work all the time. What counts as work, and when the call returns early, is as
    /// for ``waitUntilIdle()``, but if nothing is left in the file, the call returns also before the first
    /// ``run()``. It traps in a handler of one of these queues. Throws ``SluiceError`` `invalidPattern`.
    public func waitUntilIdle(_ pattern: QueuePattern) async throws(SluiceError) {
        let form = try pattern.form()
        runner.ensureNotInHandler("waitUntilIdle(_:)", ofQueuesOf: form)
        await engine.waitUntilIdle(form)
    }
}
