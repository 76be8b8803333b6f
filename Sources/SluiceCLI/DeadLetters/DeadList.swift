#if CommandLineTool
internal import ArgumentParser
internal import Sluice

struct DeadList: AsyncParsableCommand, Look {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List dead letters, the newest first.",
        discussion: """
            With --json: id, queue, kind, cause (failed, exhausted, expired, undecodable, crashed, skipped, \
            behind: its queue failed with an earlier action), error, attempts, died_at, payload.

            Example:
              sluice dead list --file q.sqlite 'mail/*' --limit 20

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption
    @OptionGroup var selection: Selection

    @Option(
        help: FailureCause.help,
        completion: FailureCause.completion,
        transform: FailureCause.argument
    )
    var cause: FailureCause?

    @OptionGroup var output: OutputOption

    /// How much of an error a row shows.
    private static let errorLength = 60

    /// Says that there is nothing to list.
    private var lack: String {
        if selection.pattern != .all {
            return "no dead letter is of a queue that matches '\(Visible.text(selection.pattern.rawValue))'"
        }
        return cause.map { "there are no dead letters with the cause \($0.rawValue)" }
            ?? "there are no dead letters"
    }

    func run() async throws {
        let found = try await store.withReader { broker in
            try await broker.deadLetters(
                selection.pattern,
                cause: cause,
                after: nil,
                limit: selection.readLimit
            )
        }
        if found.isEmpty { Terminal.remark(lack) }
        let letters = selection.cut(found, named: "dead letters")
        guard !output.json else { return Terminal.answer(letters.map { JSONText.object($0.members) }) }
        var table = Table([
            .init(heading: "ID", isNumber: true), .init(heading: "QUEUE", cut: .middle),
            .init(heading: "KIND", isExtra: true),
            .init(heading: "ATTEMPTS", isNumber: true, isExtra: true),
            .init(heading: "DIED AT", hasTimes: true), .init(heading: "CAUSE"),
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
#endif
