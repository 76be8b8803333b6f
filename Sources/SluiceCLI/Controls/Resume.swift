#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Ends holds.
struct Resume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "End holds and pauses, by the queues that they name or by their numbers.",
        discussion: """
            A queue or prefix is given exactly as it was held: a queue that is held through a prefix \
            continues when the hold of the prefix ends. --id is the number of a hold: `sluice holds` lists \
            them. The answer names the holds that have ended. With --json: holds, how many, and ids.

            Example:
              sluice resume --file q.sqlite mail/ada 'chat/*'
              sluice resume --file q.sqlite --queue 'mail/*' --by ops
              sluice resume --file q.sqlite --id 3

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Argument(
        help: ArgumentHelp("Queues or prefixes that were held.", valueName: "pattern"),
        completion: .queueNames
    )
    var patterns: [String] = []

    @Option(
        help: ArgumentHelp("The queue or prefix that was held.", valueName: "pattern"),
        completion: .queueNames
    )
    var queue: String?

    @Option(
        help: ArgumentHelp("The number of a hold; can be repeated.", valueName: "number"),
        transform: HoldID.argument
    )
    var id: [HoldID] = []

    @Flag(help: "All holds, of all queues.")
    var all = false

    @Option(help: ArgumentHelp("Only the holds of this holder; with --queue.", valueName: "name"))
    var by: String?

    @OptionGroup var output: OutputOption

    func validate() throws {
        guard [!patterns.isEmpty, queue != nil, !id.isEmpty, all].count(where: { $0 }) == 1 else {
            throw ValidationError("give queues, or one of --queue, --id and --all")
        }
        if by != nil && queue == nil { throw ValidationError("--by needs --queue") }
    }

    func run() async throws {
        let patterns = queue.map { [$0] } ?? self.patterns
        for pattern in patterns { _ = try QueuePattern(pattern).form() }
        let (ended, missing) = try await store.withBroker { broker in
            let holds = try await broker.holds()
            var missing: [String] = []
            var chosen = all ? holds : []
            for number in id {
                guard let hold = holds.first(where: { $0.id == number }) else {
                    missing.append("there is no hold \(number); `sluice holds` lists them")
                    continue
                }
                chosen.append(hold)
            }
            for pattern in patterns {
                let found = holds.filter {
                    $0.pattern == QueuePattern(pattern) && (by == nil || $0.holder == by)
                }
                if found.isEmpty { missing.append(try lack(of: pattern, holds)) }
                chosen += found
            }
            var ended: [Sluice.Hold] = []
            for hold in chosen where try await broker.endHold(hold.id) { ended.append(hold) }
            return (ended, missing)
        }
        for sentence in missing { Terminal.remark(sentence) }
        if output.json {
            let ids = JSONText.array(ended.map(\.id.description))
            Terminal.answer(JSONText.object([("holds", String(ended.count)), ("ids", ids)]))
        } else {
            let lines = ended.map {
                Visible.text("hold \($0.id) of \($0.pattern) by \($0.holder) has ended")
            }
            Terminal.answer(lines.isEmpty ? ["no hold has ended"] : lines)
        }
        if !missing.isEmpty { throw Failure(.leftover) }
    }

    /// Says that a pattern has no hold, and what there is instead.
    private func lack(of pattern: String, _ holds: [Sluice.Hold]) throws -> String {
        let holder = by.map { " by \($0)" } ?? ""
        let sentence = "there is no hold of '\(pattern)'\(holder)"
        if case .exact(let name) = try QueuePattern(pattern).form(),
            let wider = try holds.first(where: { try $0.pattern.form().matches(name) })
        {
            return "\(sentence), but hold \(wider.id) of \(wider.pattern) by \(wider.holder)"
        }
        return sentence + (HoldID.isArgument(pattern) ? "; --id \(pattern) is the hold of this number" : "")
    }
}
#endif
