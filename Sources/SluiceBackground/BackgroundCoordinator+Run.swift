internal import Logging
internal import Sluice

/// Running and stopping the broker, one after the other.
extension BackgroundCoordinator {
    /// Runs the broker while the application may work, until the task is cancelled or the broker cannot
    /// continue.
    ///
    /// Call it instead of `Broker.run()`. Until there is time to run, the broker is suspended. Cancelling
    /// the task cancels running handlers, too. The call returns when all have returned; the broker is then
    /// not suspended. It can be called again.
    ///
    /// - Throws: `SluiceError.Code.alreadyRunning`; errors of `Broker.run()` and `BrokerFile.resume()`.
    ///   Being cancelled is a normal return, and so is a `Broker.stop(grace:)` by other code.
    public func run() async throws {
        guard let number = beginRun() else {
            throw SluiceError(.alreadyRunning, "the background coordinator is run already")
        }
        defer { endRun() }
        // A task of its own, so that commands are carried out even if the caller's task is cancelled.
        let work = Task(executorPreference: executor) { try await self.followCommands(number) }
        let result = await withTaskCancellationHandler {
            await work.result
        } onCancel: {
            command.yield(.end(number))
        }
        handle(.ended)
        try result.get()
    }

    /// The executor of the coordinator's own work: that of the engine.
    var executor: (any TaskExecutor)? { engine.engineExecutor }

    private func followCommands(_ number: Int) async throws {
        if !state.isRunning { await engine.releaseFile() }
        var current: BrokerRun?
        var isToRun = false
        for await command in commands {
            switch command {
            case .run:
                // This command is outdated: the state has changed since.
                guard state.isRunning else { continue }
                try await engine.resume()
                isToRun = true
                // If a stopped run has not ended yet, the next one begins after it.
                if current == nil { current = start() }
            case .stop(let number):
                isToRun = false
                if let current { await stop(current) }
                let wakes = engine.wakeCount
                let work = await workLeft()
                await engine.releaseFile()
                // Work that has arrived since need not be among the work that was read.
                handle(.stopped(number, engine.wakeCount == wakes ? work : .now))
            case .brokerEnded(let run) where run === current:
                try run.result?.get()
                // Other code has stopped it.
                guard run.isStopped else { return }
                current = isToRun ? start() : nil
            case .end(number):
                return try await end(current)
            // Of an earlier call.
            case .brokerEnded, .end: continue
            }
        }
    }

    private func start() -> BrokerRun {
        let run = BrokerRun()
        run.begin(on: executor) { [broker, command] in
            do {
                try await broker.run()
                run.end(.success(()))
            } catch {
                run.end(.failure(error))
            }
            command.yield(.brokerEnded(run))
        }
        return run
    }

    /// Stops a run, and waits for its handlers as long as there is time.
    private func stop(_ run: BrokerRun) async {
        run.isStopped = true
        if options.stopGrace > .zero {
            await wait(atMost: options.stopGrace) { [broker, options] in
                // After its grace period it cancels the remaining handlers.
                await broker.stop(grace: options.stopGrace)
            }
        }
        run.cancel()
        await wait(atMost: options.patience) { await run.ended.wait() }
    }

    /// Returns the work left; `.now` if it is unknown or cannot be read in time.
    private func workLeft() async -> RemainingWork {
        do throws(SluiceError) {
            // The time may be over before the broker was resumed for it.
            return try await engine.remainingWorkUnlessSuspended() ?? .now
        } catch {
            broker.options.logger.debug("the work left is unknown", metadata: ["error": "\(error)"])
            return .now
        }
    }

    private func end(_ run: BrokerRun?) async throws {
        run?.isStopped = true
        run?.cancel()
        // Also for a handler that has outlived a stop, and whose outcome must be written.
        try await engine.resume()
        guard let run else { return }
        await run.ended.wait()
        try run.result?.get()
    }

    /// Waits until `body` returns or the time is over.
    private func wait(atMost limit: Duration, _ body: @escaping @Sendable () async -> Void) async {
        let (clock, isOver) = (broker.options.clock, Event())
        let deadline = clock.uptime + limit
        let timer = Task(executorPreference: executor) {
            do { try await clock.sleep(untilUptime: deadline) } catch {}
            isOver.happen()
        }
        Task(executorPreference: executor) {
            await body()
            isOver.happen()
        }
        await isOver.wait()
        timer.cancel()
    }
}
