#if CommandLineTool
internal import ArgumentParser
internal import Sluice
internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Changes when actions are due.
struct Reschedule: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Schedule waiting actions for later, or make them due now.",
        discussion: """
            Until its time an action blocks nothing. A wait for a retry stays; `sluice retry` ends it. A \
            running action is not changed. With --json: id, result (done, running or too_late).

            Example:
              sluice reschedule --file q.sqlite 17 --at 2026-12-24T18:00
              sluice reschedule --file q.sqlite 17 --at 10m
              sluice reschedule --file q.sqlite 17 --now

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Argument(help: ArgumentHelp("The numbers of actions.", valueName: "id"), transform: ActionID.argument)
    var ids: [ActionID]

    @Option(
        help: ArgumentHelp("When they are due: \(PointInTime.forms).", valueName: "span or time")
    )
    var at: PointInTime?

    @Flag(help: "Make them due now.")
    var now = false

    @OptionGroup var output: OutputOption

    func validate() throws {
        guard (at != nil) != now else { throw ValidationError("give one of --at and --now") }
    }

    func run() async throws {
        let time = at.map { Timestamp($0.date) }
        try await output.perform(ids.map { .reschedule($0, notBefore: time) }, store)
    }
}
#endif
