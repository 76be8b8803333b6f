#if CommandLineTool
internal import ArgumentParser
internal import Sluice
internal import SluiceBackground

/// Runs the actions that can run, for a limited time, and exits.
struct Drain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run all actions that can run, until none is left or a deadline passes.",
        discussion: """
            For a timer: a process that starts now and then, runs the actions that wait, and ends in time. \
            The commands of --exec and --pipe are those of `sluice run`: its help says how they get actions \
            and answer.

            It ends when no action is left that could run. It waits for retries, schedules, and \
            ends of holds and of closed gates that come before it stops starting actions (without a \
            deadline, for all of them), but not for holds and gates that somebody must end.

            THE DEADLINE is a span from the start, such as 50s or 10m, or a time, such as \
            2026-05-01T06:00:00Z; everything has ended by then. Before it, no more actions start, early \
            enough for all to end: with the defaults in the last third, at most 25 seconds. Running actions \
            get --grace to finish; then they are cancelled and released, which costs no attempt. SIGTERM, \
            SIGINT, SIGQUIT and SIGHUP do the same at once, a second one without the grace. Only another \
            connection that keeps the file's write lock delays the end, by some seconds.

            With --postgres it does not wait for actions that other processes run.

            The next run continues with the actions that are left. The exit status shows whether there are \
            any, also after a signal: 0 none, 1 actions that need an operator, otherwise 10 work that could \
            run, is due later, or runs in another process. Standard error reports all of them.

            \(RunPolicy.orderHelp)

            Example:
              sluice drain --file q.sqlite --exec './send' --deadline 50s

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption
    @OptionGroup var handler: HandlerCommand
    @OptionGroup var policy: RunPolicy

    @Option(
        help: ArgumentHelp(
            "End by then, with all commands: \(PointInTime.forms).",
            valueName: "span or time"
        )
    )
    var deadline: PointInTime?

    func validate() throws {
        let limit = deadline?.span(from: SystemClock().wallMicroseconds)
        try policy.check(for: store, try policy.times(within: limit, of: "--deadline"), handler)
    }

    func run() async throws {
        let clock = SystemClock()
        let limit = deadline?.span(from: clock.wallMicroseconds)
        let times = try policy.times(within: limit, of: "--deadline")
        let keeper = try handler.keeper(policy, times)
        // A handler may end without reading all of its input; that must not end this process.
        Signals.ignoreBrokenPipes()
        times.remarkIfNone(of: "the deadline has passed")
        Terminal.passesOn()
        Terminal.hurries(within: times.patience)
        let stop = StopRequests(refusesSuspension: store.isServer)
        let isExec = handler.exec != nil
        let options = try policy.brokerOptions(times, keeper, isExec: isExec)
        let broker = try await store.open(options, lease: policy.lease(times, isExec: isExec))
        do {
            await Descriptors.takeTimers()
            await broker.remarkOnOwners()
            let process = try handler.route(broker, policy, times, keeper, stop)
            let run = QueueRun(
                broker: broker,
                process: process,
                keeper: keeper,
                times: times,
                clock: clock,
                stop: stop
            )
            let summary = try await RunProgress(broker: broker, patterns: policy.patterns)
            let remark = policy.concurrencyRemark(broker, isExec: isExec, isServer: store.isServer)
            try await summary.follow(remark) {
                if store.isServer {
                    try await drainServer(run)
                } else {
                    try await drain(broker, run)
                }
            }
            let status = try await Leftovers.report(broker, policy.patterns, isLimited: true)
            await broker.close()
            keeper.close()
            if status != .success { throw Failure(status) }
        } catch {
            await broker.close()
            throw error
        }
    }

    /// Runs the queues until nothing is left that is due before the end.
    private func drainServer(_ run: QueueRun) async throws {
        let (broker, patterns, limit) = (run.broker, policy.patterns, run.times.work ?? Self.longestPause)
        try await run.run {
            await broker.engine.waitUntilIdle(patterns, within: limit) {
                Leftovers.tell($0, isLimited: false)
            }
        }
    }

    /// Runs the broker as in processing time that the system has granted.
    private func drain(_ broker: Broker, _ run: QueueRun) async throws {
        let (times, clock, process) = (run.times, run.clock, run.process)
        let time = ProcessTime(clock: clock, end: times.work)
        var options = BackgroundOptions()
        // Run as long as there is time.
        options.longestPause = Self.longestPause
        options.stopGrace = times.grace
        // Handlers return when their commands have been killed, which may take this long.
        options.patience = times.patience * 3 + .seconds(1)
        let background = try BackgroundCoordinator(
            broker,
            extension: NoBackgroundExtension(),
            processing: time,
            options: options
        )
        let serving = process.map { process in Task { await process.serve(by: run.keeper) } }
        time.begin()
        let running = Task {
            // Whatever ends the run, ends the time.
            defer { time.end(isDone: false) }
            try await background.run()
        }
        run.stop.connect { count in
            // The coordinator alone would stop the broker a moment later.
            broker.beginStop(grace: count == 1 ? times.grace : .zero)
            if count == 1 { time.expire() }
        }
        let timer = times.work.map { work in
            Task {
                do { try await clock.sleep(untilUptime: work) } catch { return }
                time.expire()
            }
        }
        await time.ended()
        timer?.cancel()
        running.cancel()
        let result = await running.result
        process?.close()
        await serving?.value
        try result.get()
    }

    /// A hundred years.
    private static let longestPause: Duration = .seconds(3_153_600_000)
}
#endif
