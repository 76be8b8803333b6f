#if CommandLineTool
internal import ArgumentParser
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

struct DeadPurge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Remove dead letters for ever, with their errors: by number, age, count or cause.",
        discussion: """
            By queue, the oldest go first. What --older-than and --keep say holds together: with both, \
            those go that are older, but for the newest of all. With --json: id, result (purged or \
            missing); for queues purged, how many.

            Example:
              sluice dead purge --file q.sqlite 17 18
              sluice dead purge --file q.sqlite --all --older-than 30d --keep 1000

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption
    @OptionGroup var choice: DeadChoice

    @Option(
        help: ArgumentHelp("Only those set aside so long ago: 90s, 15m, 2h, 30d.", valueName: "span")
    )
    var olderThan: Span?

    @Option(help: ArgumentHelp("So many of the newest stay, however old.", valueName: "number"))
    var keep: Int?

    @OptionGroup var output: OutputOption

    func validate() throws {
        if !choice.ids.isEmpty && (olderThan != nil || keep != nil) {
            throw ValidationError("--older-than and --keep go with --queue or --all")
        }
        if let keep, keep < 0 { throw ValidationError("--keep is \(keep); give 0 or more") }
    }

    func run() async throws {
        let isComplete = try await file.withBroker { broker in
            guard let pattern = choice.scope.pattern else { return try await purgeEach(broker) }
            let count = try await broker.purgeDeadLetters(
                pattern,
                cause: choice.cause,
                diedBefore: olderThan.map { Date() - $0.duration / .seconds(1) },
                keepingNewest: keep ?? 0
            )
            output.answer("\(DeadChoice.counted(count)) purged", [("purged", String(count))])
            return true
        }
        if !isComplete { throw Failure(.leftover) }
    }

    /// - Returns: Whether all existed.
    private func purgeEach(_ broker: Broker) async throws -> Bool {
        var isComplete = true
        for id in choice.ids {
            let isThere = try await broker.purge(id)
            isComplete = isComplete && isThere
            output.answer(
                isThere ? "\(id) is purged" : "\(id) is no dead letter; `sluice dead list` lists those",
                [("id", id.description), ("result", JSONText.string(isThere ? "purged" : "missing"))]
            )
        }
        return isComplete
    }
}
#endif
