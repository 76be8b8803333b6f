#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Dead letters.
struct Dead: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, show, requeue and purge dead letters: actions that ended without success.",
        discussion: """
            An action becomes a dead letter by a failure policy, such as --on-failure skip of `sluice run`, \
            by `sluice skip`, or when it expires. It keeps its number, payload and errors until it is \
            requeued or purged.

            Example:
              sluice dead list --file q.sqlite
              sluice dead requeue --file q.sqlite 17
              sluice dead purge --file q.sqlite --all --older-than 30d

            \(ExitStatus.help)
            """,
        subcommands: [DeadList.self, DeadShow.self, DeadRequeue.self, DeadPurge.self],
        defaultSubcommand: DeadList.self
    )
}
#endif
