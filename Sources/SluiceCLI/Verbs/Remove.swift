#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Removes actions.
struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Remove actions, by their numbers, by a tag, or all of a queue.",
        discussion: """
            A waiting action is deleted (`sluice skip` keeps it as a dead letter instead). If it had parked \
            its queue, the queue continues. A running action is cancelled: it is removed when its attempt \
            ends, unless the attempt succeeds. For each number the answer is removed, signalled (it runs) or \
            too late (it does not exist). By tag and by queue, actions enqueued during the command stay. \
            With --json: id, result (removed, signalled or too_late); by tag and queue removed and \
            signalled, how many.

            Example:
              sluice remove --file q.sqlite 17 18
              sluice remove --file q.sqlite --tag album-7
              sluice remove --file q.sqlite 'conversation/42/*'

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Argument(
        help: ArgumentHelp(
            "The numbers of actions; or one queue, or a prefix that ends in /*.",
            valueName: "id or pattern"
        ),
        completion: .queueNames
    )
    var words: [String] = []

    @Option(help: ArgumentHelp("The tag of actions, in any queue.", valueName: "text"))
    var tag: String?

    @OptionGroup var scope: Scope
    @OptionGroup var output: OutputOption

    func validate() throws {
        guard [!words.isEmpty, tag != nil, scope.pattern != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("give numbers of actions, or a queue, or one of --tag, --queue and --all")
        }
        if words.count > 1 { _ = try words.map(ActionID.argument) }
    }

    /// The queues; a word that is a number is an action's, and a queue of that name needs --queue.
    private var pattern: QueuePattern? {
        if let pattern = scope.pattern { return pattern }
        guard words.count == 1, !ActionID.isArgument(words[0]) else { return nil }
        return QueuePattern(words[0])
    }

    func run() async throws {
        if let tag { return try await output.perform([.cancel(.tag(tag))], store) }
        guard let pattern else {
            return try await output.perform(words.map { .cancel(.action(try ActionID.argument($0))) }, store)
        }
        let act = Act.cancel(.queues(try pattern.form()))
        let isUnknown = try await store.withBroker { broker in
            let isUnknown = try await broker.remarkIfNone(matches: [pattern])
            try await output.perform(act, broker)
            return isUnknown
        }
        // As a number that does not exist.
        if isUnknown, !words.isEmpty { throw Failure(.leftover) }
    }
}
#endif
