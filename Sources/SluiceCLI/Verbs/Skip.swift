#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Makes the head of a queue a dead letter.
struct Skip: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make the action that parked a queue, or its head, a dead letter; the queue continues.",
        discussion: """
            In a parked queue this skips the action that parked it, even if another one is the head now. The \
            action keeps its number, payload and errors: `sluice dead requeue` puts it back. A running head \
            is not changed; `sluice remove` cancels it. With --json: queue, result (skipped, running or \
            empty), id (null if the queue is empty).

            Example:
              sluice skip --file q.sqlite conversation/42 --reason 'the room is gone'

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Argument(
        help: ArgumentHelp("The queue.", valueName: "queue"),
        completion: .queueNames,
        transform: QueueName.argument
    )
    var queue: QueueName

    @Option(help: ArgumentHelp("The error of the dead letter; without it, its last one.", valueName: "text"))
    var reason: String?

    @OptionGroup var output: OutputOption

    func run() async throws {
        try await output.perform([.skipHead(of: queue, only: nil, reason: reason)], store)
    }
}
#endif
