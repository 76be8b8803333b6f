internal import ArgumentParser
internal import Sluice

/// Lists actions that wait or run.
struct Actions: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List actions that wait or run, in the order in which each queue runs them.",
        discussion: """
            Works while another process runs the file. Times are in UTC. The table shows the beginning of \
            each payload; with --json the answer is one JSON object a line, and holds all of it.

            Example:
              sluice actions --file q.sqlite --queue conversation/42 --json

            \(ExitStatus.help)
            """
    )

    /// How much of a payload a row of the table shows.
    private static let payloadLength = 60

    @OptionGroup var file: FileOption
    @OptionGroup var selection: Selection

    func run() async throws {
        let broker = try await file.openExisting()
        let found = try await broker.actionSummaries(selection.pattern, limit: selection.readLimit)
        await broker.close()
        let actions = selection.cut(found, named: "actions")
        if selection.json {
            for action in actions { Terminal.answer(Self.json(action)) }
        } else {
            for line in Self.table(actions).lines { Terminal.answer(line) }
        }
    }

    private static func table(_ actions: some Sequence<ActionSummary>) -> Table {
        var table = Table([
            .init(heading: "ID", isNumber: true), .init(heading: "QUEUE"), .init(heading: "KIND"),
            .init(heading: "SORT KEY"), .init(heading: "ATTEMPTS", isNumber: true), .init(heading: "STATE"),
            .init(heading: "PAYLOAD"),
        ])
        for action in actions {
            table.add([
                action.id.description, action.queue.rawValue, action.kind, action.sortKey ?? "",
                String(action.attempts), state(action),
                Table.beginning(of: JSONText.onOneLine(action.payload), count: payloadLength),
            ])
        }
        return table
    }

    private static func state(_ action: ActionSummary) -> String {
        if let time = action.runningSince { return "running since \(time)" }
        if let time = action.nextAttemptAt { return "retry at \(time)" }
        if let time = action.notBefore { return "scheduled for \(time)" }
        return "waiting"
    }

    private static func json(_ action: ActionSummary) -> String {
        JSONText.object([
            ("id", action.id.description),
            ("queue", JSONText.string(action.queue.rawValue)),
            ("kind", JSONText.string(action.kind)),
            ("sort_key", JSONText.string(action.sortKey)),
            ("attempts", String(action.attempts)),
            ("running_since", JSONText.string(action.runningSince)),
            ("next_attempt_at", JSONText.string(action.nextAttemptAt)),
            ("not_before", JSONText.string(action.notBefore)),
            ("enqueued_at", JSONText.string(action.enqueuedAt)),
            ("last_error", JSONText.string(action.lastError)),
            ("payload", JSONText.onOneLine(action.payload)),
        ])
    }
}
