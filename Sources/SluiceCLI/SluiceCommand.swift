#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// The tool; each verb has a file of its own.
///
/// Not compiled for fuzzing, where `Tests/Fuzz` has its own entry point.
#if !FUZZING
@main
#endif
struct SluiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice",
        abstract: "Queues of actions, in a SQLite file or on PostgreSQL: enqueue, run, inspect, operate.",
        discussion: """
            Each queue runs its actions one at a time and in order; separate queues run at the same time. \
            Nothing is lost when a process dies.

            WORDS. An action is a piece of work: a kind, which says what is to be done, and a payload, which \
            is JSON. A queue is a name, such as mail or chat/42, and exists as soon as an action names it; a \
            pattern is such a name, or a prefix that ends in /* and needs quotes in a shell. The head of a \
            queue is its next action. A queue is parked when its head has failed for good: none of its \
            actions runs until the head is tried again, skipped or removed. A dead letter is an action that \
            ended without success, kept with its errors. `sluice queues` shows why each queue does not move.

            SERVERS. Every verb but backup also takes --postgres with the address of a PostgreSQL database, \
            in place of --file, and --schema. libpq reads it: its environment (PGHOST, PGSERVICE), ~/.pgpass \
            and service files work. Keep passwords there, as `ps` shows the address to other users.

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
            CommandGroup(name: "Work", subcommands: [Enqueue.self, Run.self, Drain.self]),
            CommandGroup(
                name: "Look",
                subcommands: [
                    Queues.self, Show.self, Actions.self, Holds.self, Watch.self, Serve.self,
                    Doctor.self,
                ]
            ),
            CommandGroup(
                name: "Operate",
                subcommands: [
                    Retry.self, Skip.self, Move.self, Edit.self, Reschedule.self, Expire.self, Remove.self,
                    Pause.self, Resume.self, Hold.self, Gate.self, Dead.self,
                ]
            ),
            CommandGroup(
                name: "Move between files and servers",
                subcommands: [Export.self, Import.self, Backup.self]
            ),
        ]
    )

    /// The version of this tool and its library.
    static let version = "0.1.0-dev"

    /// Reports an unknown verb and suggests others; the parser would complain about its options instead.
    private static func checkVerb(_ arguments: some Collection<String>) throws(Failure) {
        guard let word = arguments.first, !word.hasPrefix("-"), word != "help" else { return }
        let verbs = configuration.subcommands.compactMap { $0._commandName }
        guard !verbs.contains(word) else { return try checkInnerVerb(of: word, arguments.dropFirst()) }
        let meant = Verbs.meant(by: word, among: verbs)
        throw Failure(
            .usage,
            "there is no verb '\(word)'" + (meant.map { "; did you mean \($0)?" } ?? ";")
                + " `sluice --help` lists all"
        )
    }

    /// The same for a verb that has verbs, such as `dead`.
    private static func checkInnerVerb(of verb: String, _ words: some Collection<String>) throws(Failure) {
        let command = configuration.subcommands.first { $0._commandName == verb }
        let verbs = command?.configuration.subcommands.compactMap { $0._commandName } ?? []
        guard !verbs.isEmpty, let word = Verbs.innerVerb(in: words) else { return }
        if verbs.contains(word) {
            // After an option the parser would take it for an argument of the default verb, such as a queue.
            guard words.first != word else { return }
            throw Failure(.usage, "'\(word)' is given right after '\(verb)': `sluice \(verb) \(word) --help`")
        }
        let meant = Verbs.meant(by: word, among: verbs, of: verb)
        throw Failure(
            .usage,
            "there is no verb '\(verb) \(word)'" + (meant.map { "; did you mean \($0)?" } ?? ";")
                + " `sluice \(verb) --help` lists all"
        )
    }

    /// The prefix of the parser's messages.
    private static let parserPrefix = "Error: "

    /// Exits with the requested help, or with the error in the arguments.
    ///
    /// - Parameter verb: The verb that ran, if its arguments could be read.
    private static func end(for error: any Error, in verb: (any ParsableCommand.Type)?) -> Never {
        let text = fullMessage(for: error)
        guard exitCode(for: error) == .validationFailure, text.hasPrefix(parserPrefix) else {
            exit(withError: error)
        }
        let arguments = CommandLine.arguments.dropFirst()
        if let name = verb?._commandName, let first = arguments.first {
            Terminal.remark(message(for: error))
            Terminal.remark("see `sluice \(first == name ? name : "\(first) \(name)") --help`")
        } else {
            Terminal.remark(lines: String(text.dropFirst(parserPrefix.count)))
        }
        let advice =
            Verbs.adviceOnOption(among: arguments) ?? Verbs.adviceOnFile(text, among: arguments)
            ?? Verbs.adviceOnQueue(text, among: Array(arguments))
        if let advice { Terminal.remark(advice) }
        exit(withError: ExitStatus.usage.exitCode)
    }

    /// Parses the arguments and runs the verb.
    static func main() async {
        var verb: (any ParsableCommand.Type)?
        do {
            Surroundings.prepare()
            try Surroundings.checkArguments()
            try checkVerb(CommandLine.arguments.dropFirst())
            // Without them, any verb would wait for ever or trap, without a word.
            try Threads.check()
            try Descriptors.check()
            var command = try await asyncParseAsRoot()
            verb = type(of: command)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            await Terminal.flush()
            try Terminal.finish(command is any Look ? .inputOutput : .unreported)
        } catch let failure as Failure {
            if let message = failure.message { Terminal.remark(message) }
            await Terminal.flush()
            exit(withError: failure.status.exitCode)
        } catch let error as SluiceError {
            LockRemark.report(error)
            await Terminal.flush()
            exit(withError: ExitStatus(error.code).exitCode)
        } catch {
            end(for: error, in: verb)
        }
    }
}
#else
internal import Foundation

/// Without the trait, the dependencies for arguments and processes are not fetched.
@main
struct SluiceCommand {
    static func main() {
        let hint = "sluice: built without its trait; use swift build --traits CommandLineTool …\n"
        FileHandle.standardError.write(Data(hint.utf8))
        exit(64)
    }
}
#endif
