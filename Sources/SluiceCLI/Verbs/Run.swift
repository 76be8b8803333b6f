#if CommandLineTool
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
            The actions of a queue run one at a time and in order; an action that fails blocks its queue, \
            and no other. An action can run more than once: after a process has died, its unfinished actions \
            run again, with the same idempotency keys.

            WITH --exec, /bin/sh -c runs the command once for each attempt. It gets the payload on standard \
            input, without a line's end, and in its environment SLUICE_QUEUE, SLUICE_ID, SLUICE_KIND, \
            SLUICE_ATTEMPT (counted from 1) and SLUICE_IDEMPOTENCY_KEY. Its exit status is the outcome:
              0      success: the action is removed
              65     permanent failure: --on-failure decides
              75     retry, after the time of a line `retry-after: SECONDS` on
                     standard output, otherwise by the policy
              other  retry by the policy, also if a signal ended it
            The policy is that of --retry-delay, --retry-limit and --max-attempts. \
            Other lines of standard output are passed on, and standard error as it is. If an attempt fails, \
            its error is the status and the last lines of standard error, at most \
            \(SluiceError.maximumTextByteCount) bytes: `exited with 3: connection refused`. The error is \
            stored and shown, so a command should not write payloads there. Both are pipes: programs that \
            use colours only on a terminal use none. Standard input is a file, which holds the whole payload \
            before the command starts. Commands run in process groups of their own and have no terminal: a \
            Ctrl-C reaches sluice alone. An attempt is over when the command and every process that it has \
            started have ended, on Linux in whichever group or session they are, elsewhere those of its \
            group. With --leave-descendants it is over with the command itself, unless it is cancelled. A \
            command cancelled by --timeout or a stop gets SIGTERM with all that it has started, and after \
            --kill-after SIGKILL. If sluice itself is killed, its process command-keeper ends them in the \
            same way. Their actions start again only when all of them have ended.

            WITH --pipe, /bin/sh -c starts the command once, and it handles many actions at the same time. \
            It gets requests on its standard input, one JSON object a line:
              {"id":7,"queue":"q","kind":"k","attempt":1,"idempotency_key":"…","payload":…}
            It answers on standard output, one JSON object a line, in any order; it must flush each line, \
            which many languages do not do on a pipe by default:
              {"id":7,"outcome":"success"}
              {"id":7,"outcome":"retry","after":1.5}   seconds; may be missing
              {"id":7,"outcome":"retry","reason":"…"}  by the policy; the reason is kept
              {"id":7,"outcome":"fail","reason":"…"}   permanent: --on-failure decides
              {"id":7,"outcome":"release"}             not now; no attempt is spent
            An answer may contain the request's "attempt": then it is only for that attempt. Without it, a \
            handler must not answer an action twice: the second answer may settle the action's next attempt.
            When an attempt is cancelled, by --timeout or a stop, the line {"cancel":7} follows; the process \
            should answer soon. If it has not answered after --kill-after, sluice ends it, since its queue \
            cannot continue before. Lines that are not answers are reported on standard error; if the "id" \
            of such a line can be read, its attempt ends as a retry. When the process ends, its unanswered \
            actions are retried by the policy. It is started again, after a delay that doubles up to \
            \(Int(HandlerProcess.longestRestartDelay.components.seconds)) seconds while it answers nothing. \
            When its standard input ends it should finish and exit, since sluice stops; if sluice was \
            killed, it gets SIGTERM at once. A last line without a line break is not a request.

            WITHOUT DESCRIPTORS, processes or memory no command can start: the action waits a second and is \
            tried again, which costs no attempt; its last error has the reason. Only as many of the \
            --concurrency commands run as `ulimit -n` allows. sluice raises its own limit as far as it may; \
            commands have the limit that sluice was started with.

            AFTER A FAILURE. `sluice dead list` lists the dead letters of --on-failure skip and fail-queue; \
            they do not count for the exit status. A parked queue stays parked at the next run, until its \
            head is removed (`sluice remove 7`) or tried again (`sluice retry --queue NAME`).

            A LIMITED TIME. With --for, starts end early enough for all attempts to end in time: with the \
            defaults in the last third, at most 25 seconds. Running actions get --grace to finish; then they \
            are cancelled and released, which costs no attempt, and their commands get --kill-after up to \
            three times. Only another connection that keeps the file's write lock delays the end, by some \
            seconds. The exit status shows whether work is left. With --until-empty the run ends earlier \
            when nothing is left, and waits for later actions as long as it has time; `sluice drain` waits \
            only for actions due in that time, and takes a deadline.

            SIGNALS. After SIGTERM, SIGINT, SIGQUIT and SIGHUP (unless it was ignored, as by nohup) no more \
            actions start, and running ones get --grace to finish; a second signal cancels them at once. \
            Neither costs an attempt. If a command ends at that time with another status than 0, 65 and 75, \
            that costs no attempt either, since a service manager may signal all processes. The exit status \
            is then 0, even if actions are left.

            WITH --postgres any number of processes on any machines share the queues. The server keeps a \
            queue for this process while its lease (--lease) lasts. A process that is cut off from the \
            server cancels its commands after two thirds of the lease, so that they have ended when another \
            one takes over. If sluice is killed, its actions wait for the end of the lease. A stopped run \
            gives its queues back at once. Ctrl-Z does not stop it. A process that SIGSTOP stops renews no \
            lease, and its commands run on: continue or end it before the lease is over.

            \(RunPolicy.orderHelp)

            Examples:
              sluice run --file q.sqlite --exec 'curl -sfd @- https://a.org || exit 75'
              sluice run --file q.sqlite --queue 'chat/*' --pipe 'python3 handler.py'
              sluice run --file q.sqlite --exec ./send --for 25s --until-empty

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption
    @OptionGroup var handler: HandlerCommand
    @OptionGroup var policy: RunPolicy

    @Flag(
        help: ArgumentHelp(
            "End when nothing runs, could run, or waits for a retry, its time, or the end of a hold or of a "
                + "gate's closing; actions that are parked, held or gated without an end are left."
        )
    )
    var untilEmpty = false

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "End within this time, with all commands: 25s, 10m, 2h, 1d; a number alone is seconds.",
            valueName: "span"
        )
    )
    var span: Span?

    func validate() throws {
        try policy.check(for: store, try policy.times(within: span?.duration, of: "--for"), handler)
    }

    func run() async throws {
        let clock = SystemClock()
        let times = try policy.times(within: span?.duration, of: "--for")
        let keeper = try handler.keeper(policy, times)
        // A handler may end without reading all of its input; that must not end this process.
        Signals.ignoreBrokenPipes()
        times.remarkIfNone(of: "--for leaves no time")
        Terminal.passesOn()
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
            let status = try await summary.follow(remark) { try await runQueues(run) }
            await broker.close()
            keeper.close()
            if status != .success { throw Failure(status) }
        } catch {
            await broker.close()
            throw error
        }
    }

    /// - Returns: The exit status.
    private func runQueues(_ run: QueueRun) async throws -> ExitStatus {
        let (broker, patterns) = (run.broker, policy.patterns)
        let isLimited = span != nil
        let wait: @Sendable () async -> Void = {
            await broker.engine.waitUntilIdle(patterns, within: nil) {
                Leftovers.tell($0, isLimited: isLimited)
            }
        }
        try await run.run(until: untilEmpty ? wait : nil)
        if run.stop.count > 0 { return .success }
        guard untilEmpty || span != nil else { return .success }
        return try await Leftovers.report(broker, patterns, isLimited: span != nil)
    }
}
#endif
