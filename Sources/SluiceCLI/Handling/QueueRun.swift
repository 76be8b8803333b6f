#if CommandLineTool
internal import Sluice

/// One run of the queues, until it is stopped, its time is over, or nothing is left to wait for.
struct QueueRun {
    let broker: Broker
    let process: HandlerProcess?
    let keeper: CommandKeeper
    let times: RunTimes
    let clock: SystemClock
    let stop: StopRequests

    /// Runs the broker.
    ///
    /// - Parameter wait: Waits until nothing is left; `nil` runs on.
    func run(until wait: (@Sendable () async -> Void)?) async throws {
        let serving = Task { [process, keeper] in await process?.serve(by: keeper) }
        let waiting = wait.map { wait in Task { await wait() } }
        let running = Task { [broker] in
            // A broker that does not run never becomes idle.
            defer { waiting?.cancel() }
            try await broker.run()
        }
        let end: @Sendable (Duration) -> Void = { [broker] grace in
            let ended = broker.beginStop(grace: grace)
            Task {
                await ended()
                // If the broker had not begun to run, stopping has no effect: it must not begin.
                running.cancel()
            }
        }
        stop.connect { [times] count in
            Terminal.hurries(within: times.patience)
            end(count == 1 ? times.grace : .zero)
        }
        let timer = times.work.map { work in
            Task { [clock, times] in
                do { try await clock.sleep(untilUptime: work) } catch { return }
                Terminal.hurries(within: times.patience)
                end(times.grace)
            }
        }
        if let waiting {
            await waiting.value
            await broker.stop(grace: times.grace)
        }
        let result = await running.result
        timer?.cancel()
        process?.close()
        await serving.value
        try result.get()
    }
}
#endif
