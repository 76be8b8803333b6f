internal import ArgumentParser
internal import Sluice

/// The tool: each verb stands in a file of its own.
@main
struct SluiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice",
        abstract: "Queues of actions in a SQLite file: enqueue, run, look.",
        discussion: """
            Each queue runs its actions one at a time and in order; separate queues run at the same time. \
            Nothing is lost when a process dies.

            Example:
              sluice enqueue --file outbox.sqlite --queue greetings --kind greet --payload '"Ada"'
              sluice run --file outbox.sqlite --exec 'cat; echo' --until-empty

            \(ExitStatus.help)
            """,
        subcommands: [Enqueue.self, Run.self, Queues.self, Actions.self]
    )

    /// Parses the arguments and runs the verb.
    static func main() async {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as Failure {
            if let message = failure.message { Terminal.remark(message) }
            exit(withError: failure.status.exitCode)
        } catch let error as SluiceError {
            Terminal.remark(error.description)
            exit(withError: ExitStatus(error.code).exitCode)
        } catch {
            // Help, a version, or arguments that do not parse.
            exit(withError: error)
        }
    }
}
