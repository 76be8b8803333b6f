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

    func validate() throws {
        guard (exec == nil) != (pipe == nil) else {
            throw ValidationError("give one of --exec and --pipe")
        }
    }

    /// Routes the queues to the command.
    ///
    /// - Returns: The process to serve, where one performs many actions.
    func route(_ broker: Broker, _ policy: RunPolicy, _ times: RunTimes) throws -> HandlerProcess? {
        if let exec {
            let command = CommandHandler(command: exec, patience: times.patience)
            try policy.route(broker) { payload, attempt in try await command.handle(payload, attempt) }
        } else if let pipe {
            let handler = HandlerProcess(command: pipe, patience: times.patience)
            try policy.route(broker) { payload, attempt in try await handler.handle(payload, attempt) }
            return handler
        }
        return nil
    }
}
#endif
