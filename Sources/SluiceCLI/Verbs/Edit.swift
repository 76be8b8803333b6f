#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Replaces the payload of an action.
struct Edit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Replace the payload of an action, in an editor or by an option.",
        discussion: """
            Without --payload the payload opens in the editor that VISUAL or EDITOR names (else vi); an \
            editor that ends with another status than 0, or saves nothing new, changes nothing. The payload \
            must be JSON. Queue, place and attempts stay. An edit of a running action applies to its next \
            attempt, and is lost if this one succeeds; with --unless-running it is refused. With --json: id, \
            result (done, deferred, running or too_late).

            Example:
              sluice edit --file q.sqlite 17
              sluice edit --file q.sqlite 17 --payload '{"text": "Hello"}'

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption

    @Argument(help: ArgumentHelp("The number of an action.", valueName: "id"), transform: ActionID.argument)
    var id: ActionID

    @Option(help: ArgumentHelp("The new payload.", valueName: "json"))
    var payload: String?

    @Flag(help: "Change nothing while the action runs.")
    var unlessRunning = false

    @OptionGroup var output: OutputOption

    func run() async throws {
        let new: String
        if let payload {
            new = payload
        } else {
            let old = try await file.withReader { try await $0.action(id).details?.payload }
            guard let old else {
                return try await output.change([id], file, done: "", deferred: "") { _, _ in .missing }
            }
            new = try Editor.edit(old)
            guard new != old else { return output.answer("\(id) is left as it is", [("id", id.description)]) }
        }
        let later = "its next attempt gets the new payload"
        try await output.change([id], file, done: "has a new payload", deferred: later) {
            broker,
            id throws(SluiceError) in
            try await broker.edit(id, payload: new, ifRunning: unlessRunning ? .refuse : .next)
        }
    }
}
#endif
