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

    func run() async throws {
        let broker = try await file.openExisting()
        let found = try await broker.queueSummaries(selection.pattern, limit: selection.readLimit)
        await broker.close()
        let queues = selection.cut(found, named: "queues")
        if selection.json {
            for queue in queues { Terminal.answer(Self.json(queue)) }
        } else {
            for line in Self.table(queues).lines { Terminal.answer(line) }
        }
    }

    private static func table(_ queues: some Sequence<QueueSummary>) -> Table {
        var table = Table([
            .init(heading: "QUEUE"), .init(heading: "DEPTH", isNumber: true), .init(heading: "STATE"),
            .init(heading: "HEAD", isNumber: true), .init(heading: "KIND"),
            .init(heading: "ATTEMPT", isNumber: true), .init(heading: "OLDEST", isNumber: true),
            .init(heading: "BECAUSE"),
        ])
        for queue in queues {
            table.add([
                queue.queue.rawValue, String(queue.depth), queue.state, queue.head?.description ?? "",
                queue.headKind ?? "", String(queue.attempt), age(queue.oldestAge), because(queue),
            ])
        }
        return table
    }

    /// Why it does not move, with the last error where the reason does not tell it.
    private static func because(_ queue: QueueSummary) -> String {
        guard let error = queue.lastError, !queue.because.hasSuffix(error) else { return queue.because }
        return "\(queue.because); \(error)"
    }

    private static func json(_ queue: QueueSummary) -> String {
        JSONText.object([
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
        ])
    }

    /// The two largest units of an age: `3 d 4 h`, `5 min 2 s`, `7 s`.
    private static func age(_ duration: Duration) -> String {
        let seconds = max(duration.components.seconds, 0)
        switch seconds {
        case 86_400...: return "\(seconds / 86_400) d \(seconds % 86_400 / 3_600) h"
        case 3_600...: return "\(seconds / 3_600) h \(seconds % 3_600 / 60) min"
        case 60...: return "\(seconds / 60) min \(seconds % 60) s"
        default: return "\(seconds) s"
        }
    }
}
