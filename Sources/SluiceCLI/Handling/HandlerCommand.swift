#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// The command that performs the actions.
struct HandlerCommand: ParsableArguments {
    @Option(help: ArgumentHelp("The command that is run for each attempt.", valueName: "command"))
    var exec: String?

    @Option(
        help: ArgumentHelp(
            "The command that is started once and gets requests as lines.",
            valueName: "command"
        )
    )
    var pipe: String?

    @Flag(
        help: ArgumentHelp(
            "An attempt of --exec ends with the command itself: processes that it leaves, such as a daemon, "
                + "run on, and its queue goes on beside them."
        )
    )
    var leaveDescendants = false

    func validate() throws {
        guard (exec == nil) != (pipe == nil) else {
            throw ValidationError("give one of --exec and --pipe")
        }
        if leaveDescendants && exec == nil {
            throw ValidationError("--leave-descendants needs --exec: a process of --pipe stays")
        }
    }

    /// The command for `/bin/sh -c`.
    private var command: String { exec ?? pipe ?? "" }

    /// Starts the process that starts the commands, before anything else is changed in this process.
    func keeper(_ policy: RunPolicy, _ times: RunTimes) throws -> CommandKeeper {
        // Abandoned processes of earlier commands may still exist when the next ones start.
        let capacity = 2 * policy.concurrency(isExec: exec != nil) + 16
        return try CommandKeeper(command: command, capacity: capacity, patience: times.patience)
    }

    /// Routes the queues to the command.
    ///
    /// - Returns: The handler process, if one process performs many actions.
    func route(
        _ broker: Broker,
        _ policy: RunPolicy,
        _ times: RunTimes,
        _ keeper: CommandKeeper,
        _ stop: StopRequests
    ) throws -> HandlerProcess? {
        guard pipe != nil else {
            let command = CommandHandler(
                keeper: keeper,
                patience: times.patience,
                leavesDescendants: leaveDescendants,
                stop: stop
            )
            try policy.route(broker) { payload, attempt in try await command.handle(payload, attempt) }
            return nil
        }
        let handler = HandlerProcess(patience: times.patience, stop: stop)
        try policy.route(broker) { payload, attempt in try await handler.handle(payload, attempt) }
        return handler
    }
}
#endif
