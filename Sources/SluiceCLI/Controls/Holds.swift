#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Lists holds.
struct Holds: AsyncParsableCommand, Look {
    static let configuration = CommandConfiguration(
        abstract: "List the holds: who holds which queues, since when and why.",
        discussion: """
            With a queue, those that cover it; with a prefix, those that cover any queue with it. \
            `sluice resume` ends a hold, by its queue or prefix as it stands here, or by --id and number. \
            With --json: id, queue, holder, reason, since, until.

            Example:
              sluice holds --file q.sqlite
              sluice holds --file q.sqlite mail/ada

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption
    @OptionGroup var queues: ShownQueues
    @OptionGroup var output: OutputOption

    func run() async throws {
        let pattern = queues.pattern
        let form = try pattern.form()
        let holds = try await store.withReader { try await $0.holds() }
            .filter { try $0.pattern.form().overlaps(form) }
        if holds.isEmpty {
            let place = pattern == .all ? "no queue" : "no queue of '\(Visible.text(pattern.rawValue))'"
            Terminal.remark("\(place) is held")
        }
        guard !output.json else { return Terminal.answer(holds.map(Self.json)) }
        var table = Table([
            .init(heading: "ID", isNumber: true), .init(heading: "QUEUE", cut: .middle),
            .init(heading: "HOLDER"),
            .init(heading: "SINCE", hasTimes: true), .init(heading: "UNTIL", hasTimes: true),
            .init(heading: "REASON", cut: .wrapped),
        ])
        for hold in holds {
            table.add([
                hold.id.description, hold.pattern.rawValue, hold.holder, Times.text(hold.since),
                hold.until.map { Times.text($0) } ?? "", hold.reason,
            ])
        }
        Terminal.answer(table.lines(output.paint))
    }

    static func json(_ hold: Sluice.Hold) -> String {
        JSONText.object([
            ("id", hold.id.description),
            ("queue", JSONText.string(hold.pattern.rawValue)),
            ("holder", JSONText.string(hold.holder)),
            ("reason", JSONText.string(hold.reason)),
            ("since", JSONText.string(Times.text(hold.since))),
            ("until", JSONText.string(hold.until.map { Times.text($0) })),
        ])
    }
}
#endif
