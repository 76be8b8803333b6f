#if CommandLineTool
internal import ArgumentParser
internal import Sluice

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Pauses queues.
struct Hold: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Pause a queue, all with a prefix, or all queues, until `sluice resume`.",
        discussion: """
            No action of these queues starts; running ones continue. A hold is stored in the file and \
            outlasts every process. Several can apply at once: a queue continues when none is left that \
            covers it. The answer is the number of the hold. With --json: id, queue, holder, reason.

            Example:
              sluice hold --file q.sqlite --queue 'mail/*' --reason 'server moves' --for 2h

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption
    @OptionGroup var scope: Scope

    @Option(help: ArgumentHelp("Who holds; without it, the name of the user.", valueName: "name"))
    var by: String?

    @Option(help: ArgumentHelp("Why, for others.", valueName: "text"))
    var reason = ""

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("When the hold ends: 90s, 15m, 2h, 1d.", valueName: "span")
    )
    var span: Span?

    @OptionGroup var output: OutputOption

    func run() async throws {
        let pattern = try scope.required()
        let holder = by ?? Self.user
        let id = try await file.withBroker {
            try await $0.hold(pattern, by: holder, reason: reason, for: span?.duration)
        }
        output.answer(
            id.description,
            [
                ("id", id.description), ("queue", JSONText.string(pattern.rawValue)),
                ("holder", JSONText.string(holder)), ("reason", JSONText.string(reason)),
            ]
        )
    }

    /// The name of the current user.
    static var user: String {
        guard let entry = getpwuid(getuid()), let name = entry.pointee.pw_name else {
            return "uid \(getuid())"
        }
        return String(cString: name)
    }
}
#endif
