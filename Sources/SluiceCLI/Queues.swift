internal import ArgumentParser
internal import Sluice

/// Lists queues with work, and why each stands.
struct Queues: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the queues with work, and why each does not move.",
        discussion: """
            Works while another process runs the file. Times are in UTC. With --json the answer is one JSON \
            object a line.

            Example:
              sluice queues --file q.sqlite --queue 'conversation/*'

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption
    @OptionGroup var selection: Selection
    @OptionGroup var output: OutputOption

    func run() async throws {
        let found = try await file.withBroker { broker in
            try await broker.queueSummaries(selection.pattern, limit: selection.readLimit)
        }
        let queues = selection.cut(found, named: "queues")
        Terminal.answer(output.json ? queues.map(Self.json) : Self.table(queues).lines(output.paint))
    }

    private static func table(_ queues: some Sequence<QueueSummary>) -> Table {
        var table = Table([
            .init(heading: "QUEUE"), .init(heading: "DEPTH", isNumber: true), .init(heading: "STATE"),
            .init(heading: "HEAD", isNumber: true), .init(heading: "KIND"),
            .init(heading: "ATTEMPT", isNumber: true), .init(heading: "OLDEST", isNumber: true),
            .init(heading: "BECAUSE"),
        ])
        for queue in queues {
            table.add(
                [
                    queue.queue.rawValue, String(queue.depth), queue.state, queue.head?.description ?? "",
                    queue.headKind ?? "", String(queue.attempt), Times.span(queue.oldestAge), because(queue),
                ],
                styles: [2: Paint.style(ofState: queue.state)].compactMapValues { $0 }
            )
        }
        return table
    }

    /// Why it does not move, with the last error where the reason does not tell it.
    static func because(_ queue: QueueSummary) -> String {
        guard let error = queue.lastError, !queue.because.hasSuffix(error) else { return queue.because }
        return "\(queue.because); \(error)"
    }

    private static func json(_ queue: QueueSummary) -> String {
        JSONText.object(members(queue))
    }

    /// The facts of a queue, as every verb names them.
    static func members(_ queue: QueueSummary) -> [(name: String, value: String)] {
        [
            ("queue", JSONText.string(queue.queue.rawValue)),
            ("depth", String(queue.depth)),
            ("state", JSONText.string(queue.state)),
            ("because", JSONText.string(queue.because)),
            ("head", queue.head?.description ?? "null"),
            ("head_kind", JSONText.string(queue.headKind)),
            ("attempt", String(queue.attempt)),
            ("blocked_until", JSONText.string(queue.blockedUntil)),
            ("oldest_age_s", String(queue.oldestAge.components.seconds)),
            ("last_error", JSONText.string(queue.lastError)),
        ]
    }
}
