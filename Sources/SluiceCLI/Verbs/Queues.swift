#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Lists queues with work, and why each does not move.
struct Queues: AsyncParsableCommand, Look {
    static let configuration = CommandConfiguration(
        abstract: "List the queues with work, and why each does not move.",
        discussion: """
            Works while another process runs the file. Times are in UTC. The table has the first reason and \
            the last error of each queue; `sluice show` has all reasons. With --json: queue, depth, state, \
            because (the first), reasons (all), parked_by (the action that parked it), head, head_kind, \
            attempt, blocked_until, oldest_age_s, last_error. A process that keeps the write lock is named \
            on standard error. `no route` means that a process that runs the queues has no route for this \
            one: it was started for others (--queue), or its program has no handler. If several processes \
            run the queues, another one may have a route.

            Example:
              sluice queues --file q.sqlite --queue 'conversation/*'

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption
    @OptionGroup var selection: Selection
    @OptionGroup var output: OutputOption

    func run() async throws {
        let found = try await file.withReader { broker in
            try await broker.lookBesideLocks {
                try await broker.statuses(matching: selection.pattern, limit: selection.readLimit)
            }
        }
        let queues = selection.cut(found, named: "queues")
        Terminal.answer(output.json ? queues.map(\.json) : QueueStatus.table(queues).lines(output.paint))
    }
}
#endif
