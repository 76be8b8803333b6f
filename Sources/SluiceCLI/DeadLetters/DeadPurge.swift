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
        abstract: "Delete dead letters and their errors: by number, age, count or cause.",
        discussion: """
            By queue, the oldest are purged first. With both --older-than and --keep, a dead letter is \
            purged if it is older and is not among the newest. With --json: id, result (purged or missing); \
            for queues purged, how many.

            Example:
              sluice dead purge --file q.sqlite 17 18
              sluice dead purge --file q.sqlite --all --older-than 30d --keep 1000

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption
    @OptionGroup var choice: DeadChoice

    @Option(
        help: ArgumentHelp("Only dead letters at least this old: 90s, 15m, 2h, 30d.", valueName: "span")
    )
    var olderThan: Span?

    @Option(help: ArgumentHelp("How many of the newest to keep, however old.", valueName: "number"))
    var keep: Int?

    @OptionGroup var output: OutputOption

    func validate() throws {
        if !choice.ids.isEmpty && (olderThan != nil || keep != nil) {
            throw ValidationError("--older-than and --keep need --queue or --all")
        }
        if let keep, keep < 0 { throw ValidationError("--keep is \(keep); give 0 or more") }
    }

    func run() async throws {
        guard let pattern = choice.scope.pattern else {
            return try await output.perform(choice.ids.map { .purge($0) }, store)
        }
        let filter = DeadLetterFilter(form: try pattern.form(), cause: choice.cause)
        let time = olderThan.map { Timestamp(Date() - $0.duration / .seconds(1)) }
        try await output.perform([.purgeAll(filter, diedBefore: time, keepingNewest: keep ?? 0)], store)
    }
}
#endif
