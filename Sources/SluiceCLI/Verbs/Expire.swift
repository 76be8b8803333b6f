#if CommandLineTool
internal import ArgumentParser
internal import Sluice
internal import SluiceJSON

/// Changes when actions expire.
struct Expire: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Set or clear the time after which actions do not start.",
        discussion: """
            What happens to an expired action is its route's policy: see `sluice run --help`. A running \
            attempt is not affected. With --json: id, result (done, deferred: it runs, or too_late).

            Example:
              sluice expire --file q.sqlite 17 --at 2026-12-31
              sluice expire --file q.sqlite 17 --never

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Argument(help: ArgumentHelp("The numbers of actions.", valueName: "id"), transform: ActionID.argument)
    var ids: [ActionID]

    @Option(help: ArgumentHelp("The time: \(PointInTime.forms).", valueName: "span or time"))
    var at: PointInTime?

    @Flag(help: "They do not expire.")
    var never = false

    @OptionGroup var output: OutputOption

    func validate() throws {
        guard (at != nil) != never else { throw ValidationError("give one of --at and --never") }
    }

    func run() async throws {
        let time = at.map { Timestamp($0.date) }
        try await output.perform(ids.map { .setExpiry($0, time) }, store)
    }
}
#endif
