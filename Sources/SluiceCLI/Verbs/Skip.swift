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
        let skip = try await store.withBroker { try await $0.skipHead(of: queue, reason: reason) }
        let (word, id): (String, ActionID?) =
            switch skip {
            case .skipped(let id): ("skipped", id)
            case .running(let id): ("running", id)
            case .other(let id): ("other", id)
            case .empty: ("empty", nil)
            }
        output.answer(
            Self.sentence(skip, queue.rawValue),
            [
                ("queue", JSONText.string(queue.rawValue)), ("result", JSONText.string(word)),
                ("id", id?.description ?? "null"),
            ]
        )
        guard case .skipped = skip else { throw Failure(.leftover) }
    }

    /// Returns the result in words, and what can be done next.
    static func sentence(_ skip: HeadSkip, _ queue: String) -> String {
        switch skip {
        case .skipped(let id): "\(id) is skipped; `sluice dead requeue \(id)` puts it back"
        case .running(let id): "\(id) runs and is left as it is; `sluice remove \(id)` cancels it"
        case .other(let id): "nothing is skipped: by now it would be \(id) of \(queue)"
        case .empty: "\(queue) has nothing to skip: it is empty, or all its actions are scheduled for later"
        }
    }
}
#endif
