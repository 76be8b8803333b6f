#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Pauses queues.
struct Hold: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Pause a queue, all with a prefix, or all queues, until `sluice resume`.",
        discussion: """
            No action of these queues starts; running ones continue. A hold is stored in the file and \
            outlasts every process. Several can apply at once: a queue continues when none is left that \
            covers it. The answer is the number of the hold, on a terminal the sentence of `sluice pause`, \
            which does the same. With --json: id, queue, holder, reason.

            Example:
              sluice hold --file q.sqlite 'mail/*' --reason 'server moves' --for 2h

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption
    @Argument(
        help: ArgumentHelp("A queue's name, or a prefix that ends in /*.", valueName: "pattern"),
        completion: .queueNames
    )
    var name: String?

    @OptionGroup var scope: Scope
    @OptionGroup var facts: HoldFacts
    @OptionGroup var output: OutputOption

    func run() async throws {
        let pattern = try scope.required(name)
        // A script reads the number; a person needs the words.
        if Terminal.hasScreen { return try await facts.answerPause(pattern, in: store, output) }
        output.answer(try await facts.hold(pattern, in: store).answer)
    }
}
#endif
