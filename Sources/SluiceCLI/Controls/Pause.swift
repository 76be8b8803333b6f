#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Pauses queues: `hold` with fewer words.
struct Pause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Pause a queue, or all with a prefix, by a hold; `sluice resume` ends it.",
        discussion: """
            No action of these queues starts; running ones continue. The pause is a hold: it is stored in \
            the file and outlasts every process, `sluice holds` lists it, and `sluice resume` with the same \
            queue or prefix ends it. '*' is every queue. With --json: id (of the hold), queue, holder, \
            reason.

            Example:
              sluice pause --file q.sqlite mail/ada
              sluice pause --file q.sqlite 'mail/*' --for 2h --reason 'server moves'

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Argument(
        help: ArgumentHelp("A queue's name, or a prefix that ends in /*.", valueName: "pattern"),
        completion: .queueNames
    )
    var pattern: String

    @OptionGroup var facts: HoldFacts
    @OptionGroup var output: OutputOption

    func run() async throws {
        try await facts.answerPause(QueuePattern(pattern), in: store, output)
    }
}
#endif
