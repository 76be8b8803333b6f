#if CommandLineTool
internal import ArgumentParser
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// How `sluice run` runs its queues.
struct RunPolicy: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The queues to run: a name, or a prefix that ends in /*. Can be repeated; without it, all.",
            valueName: "pattern"
        ),
        completion: .queueNames
    )
    var queue: [String] = []

    @Option(
        help: ArgumentHelp(
            "How many actions run at the same time at most (default: 64 with --pipe, the number of cores "
                + "with --exec).",
            valueName: "number"
        )
    )
    var concurrency: Int?

    @Option(help: ArgumentHelp("The longest that an attempt may take; without it, any.", valueName: "span"))
    var timeout: Span?

    @Option(
        help: ArgumentHelp(
            "Attempts before --on-failure decides; without it, any number.",
            valueName: "number"
        )
    )
    var maxAttempts: Int?

    @Option(
        help: ArgumentHelp(
            "The delay before the first retry; doubled for each further one, less up to half by chance.",
            valueName: "span"
        )
    )
    var retryDelay = Span(seconds: 1)

    @Option(help: ArgumentHelp("The longest delay before a retry.", valueName: "span"))
    var retryLimit = Span(seconds: 300)

    @Option(
        help: ArgumentHelp(
            "When an action fails permanently: block parks its queue, skip makes it a dead letter, "
                + "fail-queue makes its whole queue dead letters.",
            valueName: "policy"
        )
    )
    var onFailure = FailureChoice.block

    @Option(
        help: ArgumentHelp(
            "How long running actions get to finish when it stops (default: 10s; of a limited time at most "
                + "a fifth).",
            valueName: "span"
        )
    )
    var grace: Span?

    @Option(
        help: ArgumentHelp(
            "How long a command gets to end after SIGTERM, and a handler to heed a cancellation (default: "
                + "5s; of a limited time at most a twentieth).",
            valueName: "span"
        )
    )
    var killAfter: Span?

    @Option(
        help: ArgumentHelp(
            "With --postgres: how long the server keeps the queues for this process without a sign of life; "
                + "after it another process runs them (default: 30s, 45s with --pipe, more with a long "
                + "--kill-after).",
            valueName: "span"
        )
    )
    var lease: Span?

    enum FailureChoice: String, ExpressibleByArgument, CaseIterable {
        case block
        case skip
        case failQueue = "fail-queue"
    }

    @OptionGroup var rules: RunRules

    func validate() throws {
        func check(_ isValid: Bool, _ message: String) throws {
            if !isValid { throw ValidationError(message) }
        }
        try check(
            (1...10_000).contains(concurrency ?? 1),
            "--concurrency is \(concurrency ?? 0); give 1 to 10,000"
        )
        try check((maxAttempts ?? 1) >= 1, "--max-attempts is \(maxAttempts ?? 0); give 1 or more")
        for (name, span) in [
            ("--timeout", timeout), ("--retry-delay", retryDelay), ("--retry-limit", retryLimit),
            ("--grace", grace), ("--kill-after", killAfter),
        ] {
            guard let span else { continue }
            try check(span.duration <= Self.longest, "\(name) is longer than ten years")
        }
        try check(timeout?.duration != .zero, "--timeout is 0; give more")
    }

    /// Ten years: a longer one is surely a mistake.
    private static let longest: Duration = .seconds(315_360_000)
}

extension RunPolicy {
    /// The order in which actions start.
    static let orderHelp = """
        ORDER. A queue runs its actions first in, first out, unless --discipline says otherwise: \
        last-in-first-out, concurrent:4 (up to four at a time), or pass-over (in passes; a failed action \
        waits for the next pass, and so do members of the groups that it has started). \
        'mail/*=concurrent:4' is for these queues only; without a pattern it is for all of --queue. The most \
        specific pattern decides. With --batch 10 a queue starts when 10 actions wait, or when the oldest \
        is --batch-wait old. All processes that run a file should use the same: neither is in the file.
        """

    var patterns: [QueuePattern] { queue.isEmpty ? [.all] : queue.map { QueuePattern($0) } }

    /// Returns how many actions may run at the same time.
    ///
    /// - Parameter isExec: Whether each action runs a command of its own.
    func concurrency(isExec: Bool) -> Int {
        concurrency
            ?? (isExec ? max(ProcessInfo.processInfo.activeProcessorCount, 1) : BrokerOptions().concurrency)
    }

    /// - Parameter isExec: Whether each action runs a command of its own.
    func brokerOptions(
        _ times: RunTimes,
        _ keeper: CommandKeeper,
        isExec: Bool
    ) throws(Failure) -> BrokerOptions {
        var options = BrokerOptions()
        let asked = concurrency(isExec: isExec)
        let possible = try Descriptors.concurrency(upTo: isExec ? asked : 1)
        options.concurrency = isExec ? possible : asked
        if isExec, possible < asked {
            Terminal.remark(
                "\(possible) instead of \(asked) commands run at the same time: a process may have no more "
                    + "files open; raise `ulimit -n`, or LimitNOFILE= of the service"
            )
        }
        options.file.leases.keeper = .of(Int64(keeper.pid))
        options.stopGrace = times.grace
        options.file.lockTimeout = times.lockTimeout ?? options.file.lockTimeout
        options.logger = RemarkLogHandler.logger
        options.namesQueuesWithoutRoute = false
        return options
    }

    /// Returns what says why fewer actions run at the same time than one may expect.
    func concurrencyRemark(_ broker: Broker, isExec: Bool, isServer: Bool) -> ConcurrencyRemark {
        ConcurrencyRemark(
            broker: broker,
            patterns: patterns,
            concurrency: concurrency(isExec: isExec),
            reason: concurrency != nil ? .option : isExec ? .processors : .default,
            rules: rules,
            isExec: isExec,
            isServer: isServer
        )
    }

    /// Routes the queues to a handler, with their disciplines and batches.
    func route(
        _ broker: Broker,
        to handler: @escaping @Sendable (String, Attempt) async throws -> Outcome
    ) throws {
        for (pattern, options) in rules.options(for: patterns) { try broker.configure(pattern, options) }
        for pattern in patterns { try broker.routeAnyKind(pattern, routeOptions, handler: handler) }
    }

    private var routeOptions: RouteOptions {
        let retry = RetryPolicy.exponential(first: retryDelay.duration, limit: retryLimit.duration)
        let failure: FailurePolicies =
            switch onFailure {
            case .block: FailurePolicies()
            case .skip: .all(.skip)
            case .failQueue: .all(.failQueue)
            }
        return RouteOptions(
            retry: (maxAttempts.map { retry.limited(to: $0) } ?? retry).withDelaysOfCommands,
            failure: failure,
            timeout: timeout?.duration
        )
    }
}
#endif
