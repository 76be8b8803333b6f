internal import ArgumentParser
internal import Sluice

/// The tool: each verb stands in a file of its own.
@main
struct SluiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice",
        abstract: "Queues of actions in a SQLite file: enqueue, run, look, operate.",
        discussion: """
            Each queue runs its actions one at a time and in order; separate queues run at the same time. \
            Nothing is lost when a process dies.

            Example:
              sluice enqueue --file q.sqlite --queue hello --kind greet --payload '"Ada"'
              sluice run --file q.sqlite --exec 'cat; echo' --until-empty

            Names and payloads are shown with control characters escaped. With --json every answer is one \
            JSON object a line. `sluice --generate-completion-script bash` (zsh, fish) writes completions \
            for a shell, of the names of queues too.

            \(ExitStatus.help)
            """,
        version: "\(version) (SQLite \(FileFacts.libraryVersion))",
        groupedSubcommands: [
            CommandGroup(name: "Work", subcommands: [Enqueue.self, Run.self]),
            CommandGroup(
                name: "Look",
                subcommands: [
                    Queues.self, Show.self, Actions.self, Holds.self, Watch.self, Doctor.self,
                ]
            ),
            CommandGroup(
                name: "Operate",
                subcommands: [
                    Retry.self, Skip.self, Move.self, Remove.self, Hold.self, Resume.self, Gate.self,
                    Dead.self,
                ]
            ),
            CommandGroup(
                name: "Move between files",
                subcommands: [Export.self, Import.self, Backup.self]
            ),
        ]
    )

    /// The version of this tool and its library.
    static let version = "0.1.0-dev"

    /// What stands before the parser's messages.
    private static let parserPrefix = "Error: "

    /// Ends with the help that was asked for, or with what is wrong with the arguments.
    private static func end(for error: any Error) -> Never {
        let text = fullMessage(for: error)
        guard exitCode(for: error) == .validationFailure, text.hasPrefix(parserPrefix) else {
            exit(withError: error)
        }
        Terminal.remark(lines: String(text.dropFirst(parserPrefix.count)))
        exit(withError: ExitStatus.usage.exitCode)
    }

    /// Parses the arguments and runs the verb.
    static func main() async {
        do {
            var command = try await asyncParseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            try Terminal.finish()
        } catch let failure as Failure {
            if let message = failure.message { Terminal.remark(message) }
            exit(withError: failure.status.exitCode)
        } catch let error as SluiceError {
            Terminal.remark(error.description)
            exit(withError: ExitStatus(error.code).exitCode)
        } catch {
            end(for: error)
        }
    }
}
