#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Ends holds.
struct Resume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "End holds and pauses, by the queues that they name or by their numbers.",
        discussion: """
            A queue or prefix is given exactly as it was held: a queue that is held through a prefix \
            continues when the hold of the prefix ends. An argument that is a number is that of a hold; for \
            a queue with such a name use --queue. `sluice holds` lists the holds. With --json: holds, how \
            many have ended.

            Example:
              sluice resume --file q.sqlite mail/ada 'chat/*'
              sluice resume --file q.sqlite --queue 'mail/*' --by ops
              sluice resume --file q.sqlite 3

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption

    @Argument(
        help: ArgumentHelp(
            "Queues or prefixes that were held, or numbers of holds.",
            valueName: "pattern or id"
        ),
        completion: .queueNames
    )
    var targets: [String] = []

    @Option(
        help: ArgumentHelp("The queue or prefix that was held.", valueName: "pattern"),
        completion: .queueNames
    )
    var queue: String?

    @Flag(help: "All holds, of all queues.")
    var all = false

    @Option(help: ArgumentHelp("Only the holds of this holder; with --queue.", valueName: "name"))
    var by: String?

    @OptionGroup var output: OutputOption

    func validate() throws {
        guard [!targets.isEmpty, queue != nil, all].count(where: { $0 }) == 1 else {
            throw ValidationError("give queues or numbers of holds, or one of --queue and --all")
        }
        if by != nil && queue == nil { throw ValidationError("--by needs --queue") }
    }

    func run() async throws {
        let targets = try self.targets.map { try Target($0) }
        let (count, isComplete) = try await file.withBroker { broker in
            var counts: [Int] = []
            if let queue {
                counts.append(try await broker.endHolds(matching: QueuePattern(queue), by: by))
            } else if all {
                for hold in try await broker.holds() where try await broker.endHold(hold.id) {
                    counts.append(1)
                }
            } else {
                for target in targets { counts.append(try await target.end(broker)) }
            }
            return (counts.reduce(0, +), !counts.contains(0))
        }
        output.answer(
            count == 1 ? "1 hold has ended" : "\(count) holds have ended",
            [("holds", String(count))]
        )
        if !isComplete { throw Failure(.leftover) }
    }

    /// What an argument names.
    private enum Target {
        case hold(HoldID)
        case queues(QueuePattern)

        init(_ word: String) throws {
            if !word.isEmpty, word.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
                self = .hold(try HoldID.argument(word))
            } else {
                _ = try QueuePattern(word).form()
                self = .queues(QueuePattern(word))
            }
        }

        /// Ends its holds.
        ///
        /// - Returns: How many there were.
        func end(_ broker: Broker) async throws -> Int {
            switch self {
            case .hold(let id): try await broker.endHold(id) ? 1 : 0
            case .queues(let pattern): try await broker.endHolds(matching: pattern)
            }
        }
    }
}
#endif
