#if CommandLineTool
internal import ArgumentParser
internal import Sluice

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

    @OptionGroup var store: StoreOption

    @Argument(
        help: ArgumentHelp("The number of the dead letter.", valueName: "id"),
        transform: ActionID.argument
    )
    var id: ActionID

    @OptionGroup var output: OutputOption

    func run() async throws {
        let (letter, history) = try await store.withReader { broker in
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
