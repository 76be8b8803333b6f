#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Ends holds.
struct Resume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "End holds, by their numbers or by the queues that they name.",
        discussion: """
            --queue is the pattern that was held, exactly as given: a queue that is held through a prefix \
            continues when the hold of the prefix ends. `sluice holds` lists the holds. With --json: holds, \
            how many have ended.

            Example:
              sluice resume --file q.sqlite --queue 'mail/*'
              sluice resume --file q.sqlite 3

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption

    @Argument(help: ArgumentHelp("The numbers of holds.", valueName: "id"), transform: HoldID.argument)
    var ids: [HoldID] = []

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
        guard [!ids.isEmpty, queue != nil, all].count(where: { $0 }) == 1 else {
            throw ValidationError("give numbers of holds, or one of --queue and --all")
        }
        if by != nil && queue == nil { throw ValidationError("--by needs --queue") }
    }

    func run() async throws {
        let count = try await file.withBroker { broker in
            if let queue { return try await broker.endHolds(matching: QueuePattern(queue), by: by) }
            var count = 0
            for id in all ? try await broker.holds().map(\.id) : ids where try await broker.endHold(id) {
                count += 1
            }
            return count
        }
        output.answer(
            count == 1 ? "1 hold has ended" : "\(count) holds have ended",
            [("holds", String(count))]
        )
        if !all && count < max(ids.count, 1) { throw Failure(.leftover) }
    }
}
#endif
