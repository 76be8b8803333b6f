internal import ArgumentParser
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Runs the queues of a file through a command.
struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the queues through a command, or through one long-lived handler process.",
        discussion: """
            The actions of a queue run one at a time and in order; an action that fails holds up its \
            queue, and no other. An action can run more than once: when a process dies, what it had not \
            finished runs again, with the same idempotency key.

            WITH --exec, /bin/sh -c runs the command once for each attempt. It gets the payload on standard \
            input, and in its environment SLUICE_QUEUE, SLUICE_ID, SLUICE_KIND, SLUICE_ATTEMPT (counted \
            from 1) and SLUICE_IDEMPOTENCY_KEY. Its exit status tells the outcome:
              0      success: the action is removed
              65     permanent failure: --on-failure decides
              75     retry, after as long as a line `retry-after: SECONDS` on
                     standard output says, or else by the policy
              other  retry by the policy, as when a signal ended it
            The policy is that of --retry-delay, --retry-limit and --max-attempts. \
            Other lines of standard output are passed on. Commands run in process groups of their own: a \
            Ctrl-C reaches sluice alone. One that is cancelled, by --timeout or a stop, gets SIGTERM and \
            after --kill-after SIGKILL; its attempt is over when all of its group is. \
            If sluice itself is killed with SIGKILL, its commands run on.

            WITH --pipe, /bin/sh -c starts the command once, and it handles many actions at the same time. \
            Requests come on its standard input, one JSON object a line:
              {"id":7,"queue":"q","kind":"k","attempt":1,"idempotency_key":"…","payload":…}
            It answers on standard output, one JSON object a line, in any order; it must flush each line, \
            which many languages do not do on a pipe by themselves:
              {"id":7,"outcome":"success"}
              {"id":7,"outcome":"retry","after":1.5}   seconds; may be missing
              {"id":7,"outcome":"retry","reason":"…"}  by the policy; the reason is kept
              {"id":7,"outcome":"fail","reason":"…"}   permanent: --on-failure decides
              {"id":7,"outcome":"release"}             not now, and no attempt is spent
            An answer may also hold the request's "attempt": then it counts for that attempt alone. Without \
            it, a handler must not answer an action twice: a second answer may meet the action's next attempt.
            When an attempt is cancelled, by --timeout or a stop, the line {"cancel":7} follows; the \
            process should answer soon. If it has not after --kill-after it is ended, since its queue \
            cannot go on before. Lines that are no answer are reported on standard error. When the \
            process ends, what it had in work is retried by the policy, and it is started again, after a \
            delay that doubles up to \(Int(HandlerProcess.longestRestartDelay.components.seconds)) seconds \
            while it answers nothing. When its standard input ends it should finish and exit: then sluice \
            stops, or has been killed.

            AFTER A FAILURE. What --on-failure skip and fail-queue set aside is listed by `sluice dead \
            list`; it does not count for the exit status. A parked queue stays parked at the next run, until \
            its head is removed (`sluice remove 7`) or tried again (`sluice retry --queue NAME`).

            SIGNALS. SIGTERM and SIGINT start no more actions and let those that run finish, up to --grace; \
            a second signal cancels them at once. Neither costs an attempt.

            Examples:
              sluice run --file q.sqlite --exec 'curl -sfd @- https://a.org || exit 75'
              sluice run --file q.sqlite --queue 'chat/*' --pipe 'python3 handler.py'

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption

    @Option(help: ArgumentHelp("The command that is run for each attempt.", valueName: "command"))
    var exec: String?

    @Option(
        help: ArgumentHelp(
            "The command that is started once and gets requests as lines.",
            valueName: "command"
        )
    )
    var pipe: String?

    @OptionGroup var policy: RunPolicy

    @Flag(
        help:
            "End when nothing could run or waits for a retry or its schedule; holds are not waited for."
    )
    var untilEmpty = false

    func validate() throws {
        guard (exec == nil) != (pipe == nil) else {
            throw ValidationError("give one of --exec and --pipe")
        }
    }

    func run() async throws {
        // A handler that ends without reading all of its input is no reason to end with it.
        Signals.ignoreBrokenPipes()
        let stop = StopRequests()
        let broker = try await file.open(policy.brokerOptions(handlesInProcess: exec != nil))
        do {
            let isDone = try await run(broker, stop)
            await broker.close()
            if !isDone { throw Failure(.leftover) }
        } catch {
            await broker.close()
            throw error
        }
    }

    /// Runs the broker until it is stopped, or there is nothing left to run.
    ///
    /// - Returns: Whether it has done what was asked for.
    private func run(_ broker: Broker, _ stop: StopRequests) async throws -> Bool {
        var process: HandlerProcess?
        if let exec {
            let command = CommandHandler(command: exec, patience: policy.patience)
            try policy.route(broker) { payload, attempt in try await command.handle(payload, attempt) }
        } else if let pipe {
            let handler = HandlerProcess(command: pipe, patience: policy.patience)
            process = handler
            try policy.route(broker) { payload, attempt in try await handler.handle(payload, attempt) }
        }
        let isStopped = try await runUntilStopped(broker, process, stop)
        return isStopped || !untilEmpty ? true : try await reportLeftovers(broker)
    }

    /// - Returns: Whether a signal stopped it.
    private func runUntilStopped(
        _ broker: Broker,
        _ process: HandlerProcess?,
        _ stop: StopRequests
    ) async throws -> Bool {
        let serving = process.map { process in Task { await process.serve() } }
        let waiting = untilEmpty ? Task { await broker.waitUntilIdle() } : nil
        let running = Task {
            // A broker that does not run never becomes idle.
            defer { waiting?.cancel() }
            try await broker.run()
        }
        stop.connect { [grace = policy.graceDuration] count in
            await broker.stop(grace: count == 1 ? grace : .zero)
            // A broker that had not begun to run has nothing to stop: this one must not begin.
            running.cancel()
        }
        if let waiting {
            await waiting.value
            await broker.stop(grace: policy.graceDuration)
        }
        let result = await running.result
        process?.close()
        await serving?.value
        try result.get()
        return stop.count > 0
    }

    private func reportLeftovers(_ broker: Broker) async throws -> Bool {
        var left = 0
        var parked = 0
        for pattern in policy.patterns {
            let queues = try await broker.statuses(matching: pattern, limit: Self.leftoverLimit)
            left += queues.count
            parked += queues.count { $0.state == .parked }
        }
        guard left > 0 else { return true }
        let count = left >= Self.leftoverLimit ? "\(left) or more" : "\(left)"
        let queues = count == "1" ? "1 queue still has" : "\(count) queues still have"
        Terminal.remark("\(queues) actions, \(parked) parked; see `sluice queues`")
        return false
    }

    /// How many queues are counted at most.
    private static let leftoverLimit = 10_000
}
