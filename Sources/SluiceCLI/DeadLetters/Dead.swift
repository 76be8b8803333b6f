#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Dead letters.
struct Dead: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, show, requeue and purge dead letters: actions that were set aside.",
        discussion: """
            An action becomes a dead letter by a failure policy, such as --on-failure skip of `sluice run`, \
            by `sluice skip`, or when it expires. It keeps its number, payload and errors until it is put \
            back or purged.

            Example:
              sluice dead list --file q.sqlite
              sluice dead requeue --file q.sqlite 17
              sluice dead purge --file q.sqlite --all --older-than 30d

            \(ExitStatus.help)
            """,
        subcommands: [DeadList.self, DeadShow.self, DeadRequeue.self, DeadPurge.self],
        defaultSubcommand: DeadList.self
    )
}

struct DeadList: AsyncParsableCommand, Look {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List dead letters, the newest first.",
        discussion: """
            With --json: id, queue, kind, cause (failed, exhausted, expired, undecodable, crashed, behind: \
            it stood behind one that set its queue aside, skipped), error, attempts, died_at, payload.

            Example:
              sluice dead list --file q.sqlite --queue 'mail/*' --limit 20

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption
    @OptionGroup var selection: Selection

    @Option(
        help: DeadLetterCause.help,
        completion: DeadLetterCause.completion,
        transform: DeadLetterCause.argument
    )
    var cause: DeadLetterCause?

    @OptionGroup var output: OutputOption

    /// How much of an error a row shows.
    private static let errorLength = 60

    func run() async throws {
        let found = try await file.withReader { broker in
            try await broker.deadLetters(selection.pattern, cause: cause, limit: selection.readLimit)
        }
        let letters = selection.cut(found, named: "dead letters")
        guard !output.json else { return Terminal.answer(letters.map { JSONText.object($0.members) }) }
        var table = Table([
            .init(heading: "ID", isNumber: true), .init(heading: "QUEUE"), .init(heading: "KIND"),
            .init(heading: "ATTEMPTS", isNumber: true), .init(heading: "DIED AT"), .init(heading: "CAUSE"),
            .init(heading: "ERROR"),
        ])
        for letter in letters {
            table.add([
                letter.id.description, letter.queue.rawValue, letter.kind, String(letter.attempts),
                Times.text(letter.diedAt), letter.cause.rawValue,
                Visible.beginning(of: letter.error, count: Self.errorLength),
            ])
        }
        Terminal.answer(table.lines(output.paint))
    }
}

struct DeadShow: AsyncParsableCommand, Look {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a dead letter with its payload and all its failed attempts.",
        discussion: """
            With --json: the fields of `dead list`, and history, an array of number, outcome, error, \
            started_at, ended_at.

            Example:
              sluice dead show --file q.sqlite 17

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption

    @Argument(
        help: ArgumentHelp("The number of the dead letter.", valueName: "id"),
        transform: ActionID.argument
    )
    var id: ActionID

    @OptionGroup var output: OutputOption

    func run() async throws {
        let (letter, history) = try await file.withReader { broker in
            (try await broker.deadLetter(id), try await broker.failedAttempts(of: id))
        }
        guard let letter else { throw Failure(.leftover, "there is no dead letter \(id)") }
        guard !output.json else {
            let members = letter.members + [("history", JSONText.array(history.map(\.json)))]
            return Terminal.answer(JSONText.object(members))
        }
        let facts = [
            ("id", letter.id.description), ("queue", letter.queue.rawValue), ("kind", letter.kind),
            ("cause", letter.cause.rawValue), ("error", letter.error),
            ("died at", Times.text(letter.diedAt)), ("attempts", String(letter.attempts)),
            ("payload", JSONText.onOneLine(letter.payload)),
        ]
        Terminal.answer(Facts.lines(facts, output.paint) + FailedAttempt.lines(history, output.paint))
    }
}
#endif
