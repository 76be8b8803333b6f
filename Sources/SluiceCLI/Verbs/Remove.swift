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
        let isComplete = try await store.withBroker { broker in
            if let tag {
                answer(try await broker.cancel(tag: tag))
            } else if let pattern {
                try await broker.remarkIfNone(matches: [pattern])
                answer(try await broker.cancel(queues: pattern))
            } else {
                return try await removeEach(broker)
            }
            return true
        }
        if !isComplete { throw Failure(.leftover) }
    }

    private func answer(_ counts: CancellationCounts) {
        output.answer(
            "\(counts.removed) removed, \(counts.signalled) signalled",
            [("removed", String(counts.removed)), ("signalled", String(counts.signalled))]
        )
    }

    /// - Returns: Whether all existed.
    private func removeEach(_ broker: Broker) async throws -> Bool {
        var isComplete = true
        for id in try words.map(ActionID.argument) {
            let word: String
            let sentence: String
            switch try await broker.cancel(id) {
            case .removed: (word, sentence) = ("removed", "\(id) is removed")
            case .signalled:
                word = "signalled"
                sentence = "\(id) runs; it is removed when its attempt ends, unless it succeeds"
            case .tooLate:
                isComplete = false
                (word, sentence) = ("too_late", try await Self.absence(of: id, broker))
            }
            output.answer(sentence, [("id", id.description), ("result", JSONText.string(word))])
        }
        return isComplete
    }

    /// Explains why an action does not exist, and what can be done.
    static func absence(of id: ActionID, _ broker: Broker) async throws -> String {
        guard try await broker.deadLetter(id) != nil else {
            return "too late: \(id) does not exist; `sluice actions` lists all"
        }
        return "too late: \(id) is a dead letter; `sluice dead` requeues and purges dead letters"
    }
}
#endif
