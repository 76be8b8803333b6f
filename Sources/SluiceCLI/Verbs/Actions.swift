#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Lists actions that wait or run.
struct Actions: AsyncParsableCommand, Look {
    static let configuration = CommandConfiguration(
        abstract: "List actions that wait or run, in the order in which each queue runs them.",
        discussion: """
            Works while another process runs the file. Times are in UTC. The table shows the beginning of \
            each payload; --json has all of it. With --json: id, queue, kind, sort_key, attempts, \
            running_since, next_attempt_at, not_before, enqueued_at, last_error, payload.

            Example:
              sluice actions --file q.sqlite conversation/42 --json

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption
    @OptionGroup var selection: Selection
    @OptionGroup var output: OutputOption

    func run() async throws {
        let (found, parking) = try await store.withReader { broker in
            let found = try await broker.actionSummaries(selection.pattern, limit: selection.readLimit)
            if found.isEmpty { try await broker.remarkIfNone(matches: [selection.pattern]) }
            let parking = output.json ? [] : try await parkingActions(broker)
            return (found, parking)
        }
        let actions = selection.cut(found, named: "actions")
        Terminal.answer(
            output.json
                ? actions.map(\.json) : ActionSummary.table(actions, parking: parking).lines(output.paint)
        )
    }

    /// Returns the actions that have parked queues, at least those of the queues that are listed.
    private func parkingActions(_ broker: Broker) async throws -> Set<ActionID> {
        // As many queues, both by name; a queue that runs several actions can be parked too.
        let queues = try await broker.statuses(
            matching: selection.pattern,
            in: [.parked, .running],
            limit: selection.readLimit
        )
        return Set(queues.compactMap(\.parkingAction))
    }
}
#endif
