internal import ArgumentParser
internal import Sluice

/// Dead letters.
struct Dead: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, show and requeue dead letters: actions that were set aside.",
        discussion: """
            An action becomes a dead letter by a failure policy, such as --on-failure skip of `sluice run`, \
            or when it expires. It keeps its number, payload and errors.

            Example:
              sluice dead list --file q.sqlite
              sluice dead requeue --file q.sqlite 17

            \(ExitStatus.help)
            """,
        subcommands: [DeadList.self, DeadShow.self, DeadRequeue.self],
        defaultSubcommand: DeadList.self
    )
}

struct DeadList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List dead letters, the newest first.",
        discussion: """
            With --json: id, queue, kind, cause (failed, exhausted, expired, undecodable, crashed; null if \
            it stood behind one or was skipped), error, attempts, died_at, payload.

            Example:
              sluice dead list --file q.sqlite --limit 20

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption

    @Option(help: ArgumentHelp("The most that are listed.", valueName: "number"))
    var limit = 1_000

    @OptionGroup var output: OutputOption

    /// How much of an error a row shows.
    private static let errorLength = 60

    func validate() throws {
        guard (1...10_000_000).contains(limit) else {
            throw ValidationError("--limit is \(limit); give 1 to 10,000,000")
        }
    }

    func run() async throws {
        let found = try await file.withBroker { try await $0.deadLetters(limit: limit + 1) }
        if found.count > limit {
            Terminal.remark("there are more than \(limit) dead letters; --limit shows more")
        }
        let letters = found.prefix(limit)
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

struct DeadShow: AsyncParsableCommand {
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
        let (letter, history) = try await file.withBroker { broker in
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

struct DeadRequeue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requeue",
        abstract: "Put dead letters back into their queues, at their old places.",
        discussion: """
            They keep their numbers, and their attempts count anew. With --json: id, result (requeued or \
            missing).

            Example:
              sluice dead requeue --file q.sqlite 17 18

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption

    @Argument(
        help: ArgumentHelp("The numbers of dead letters.", valueName: "id"),
        transform: ActionID.argument
    )
    var ids: [ActionID]

    @OptionGroup var output: OutputOption

    func run() async throws {
        var isComplete = true
        try await file.withBroker { broker in
            for id in ids {
                let isThere = try await broker.requeue(id)
                isComplete = isComplete && isThere
                output.answer(
                    isThere ? "\(id) is requeued" : "\(id) is no dead letter",
                    [("id", id.description), ("result", JSONText.string(isThere ? "requeued" : "missing"))]
                )
            }
        }
        if !isComplete { throw Failure(.leftover) }
    }
}
