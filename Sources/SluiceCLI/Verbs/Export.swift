#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Writes actions as lines of JSON.
struct Export: AsyncParsableCommand, Look {
    static let configuration = CommandConfiguration(
        abstract: "Write the actions that wait or run as JSON lines, for `sluice import`.",
        discussion: """
            One object a line, in the order in which the actions were enqueued; those that were moved to the \
            front of a queue come first. Fields: queue, kind, sort_type and sort_key (missing in order of \
            arrival), version (missing if it is 1), tag, gate, not_before, expires_at, starts_groups, \
            member_of and trace (missing if there is none), payload, and the action's id in this file. \
            Payloads are unchanged, except for line breaks between their parts. Sort keys that are dates are \
            ISO 8601 in UTC; infinite ones are the texts "inf" and "-inf".

            Attempts, errors, idempotency keys, holds, gates and dead letters are not exported. Actions are \
            read in pages: the output may include actions enqueued during the export, and lack actions \
            settled during it. To move a queue, hold it first (`sluice hold`) and check that none of its \
            actions runs.

            Example:
              sluice export --file q.sqlite --queue 'mail/*' > mail.jsonl
              sluice export --file q.sqlite | sluice import --file other.sqlite --from -
              sluice export --file q.sqlite | sluice import --postgres URL --from -

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Option(
        help: ArgumentHelp("A queue's name, or a prefix that ends in /*.", valueName: "pattern"),
        completion: .queueNames
    )
    var queue = "*"

    @Flag(help: "JSON lines, which is the only form.")
    var json = false

    /// Limits of one page, in actions and about in bytes of payload, which bound memory.
    private static let pageSize = 1_000
    private static let pageByteCount = 8 * 1_024 * 1_024

    func run() async throws {
        let queues = try QueuePattern(queue).form()
        try await store.withReader { broker in
            let moved = try await broker.engine.movedActions(queues)
            try await write(moved.first, queues, of: broker)
            let apart = Set(moved.first + moved.last)
            var last = ActionID(rawValue: .min)
            while true {
                let page = try await broker.engine.exportPage(
                    queues,
                    after: last,
                    limit: Self.pageSize,
                    byteLimit: Self.pageByteCount
                )
                guard let end = page.last else { break }
                last = end.id
                try write(page.filter { !apart.contains($0.id) })
            }
            try await write(moved.last, queues, of: broker)
        }
    }

    /// Writes those of the actions that are still there.
    private func write(
        _ ids: [ActionID],
        _ queues: QueuePattern.Form,
        of broker: Broker
    ) async throws {
        for id in ids {
            let page = try await broker.engine.exportPage(
                queues,
                after: ActionID(rawValue: id.rawValue - 1),
                limit: 1,
                byteLimit: Self.pageByteCount
            )
            try write(page.filter { $0.id == id })
        }
    }

    private func write(_ actions: [TransferredAction]) throws {
        let lines = actions.map(TransferLine.text)
        // A file keeps the payload for `import`; on a screen, control characters must not reach the terminal.
        try Terminal.deliver(Terminal.hasScreen ? lines.map(JSONText.visible) : lines)
    }
}
#endif
