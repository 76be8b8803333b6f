#if CommandLineTool
internal import Sluice

/// Names and values, one pair a line.
enum Facts {
    /// Returns lines for the pairs that have a value; control characters are escaped.
    static func lines(_ facts: [(String, String)], _ paint: Paint) -> [String] {
        let facts = facts.filter { !$0.1.isEmpty }
        let width = facts.map { DisplayWidth.of($0.0) }.max() ?? 0
        return facts.flatMap { name, value in
            let lines = DisplayWidth.paragraph(Visible.text(value), indent: width + 2)
            return [paint(DisplayWidth.fit(name, width), .bold) + "  " + lines[0]] + lines.dropFirst()
        }
    }
}

extension FailedAttempt {
    /// The outcome, as `sluice_attempts` names it.
    private var outcome: String { cause?.rawValue ?? "retry" }

    var json: String {
        JSONText.object([
            ("number", String(number)), ("outcome", JSONText.string(outcome)),
            ("error", JSONText.string(error)), ("started_at", JSONText.string(Times.text(startedAt))),
            ("ended_at", JSONText.string(Times.text(endedAt))),
        ])
    }

    /// Returns a history as a table, under an empty line; nothing if there is none.
    static func lines(_ history: [FailedAttempt], _ paint: Paint) -> [String] {
        guard !history.isEmpty else { return [] }
        var table = Table([
            .init(heading: "ATTEMPT", isNumber: true), .init(heading: "OUTCOME"),
            .init(heading: "STARTED AT", hasTimes: true),
            .init(heading: "ENDED AT", hasTimes: true), .init(heading: "ERROR", cut: .wrapped),
        ])
        for attempt in history {
            table.add([
                String(attempt.number), attempt.outcome, Times.text(attempt.startedAt),
                Times.text(attempt.endedAt),
                attempt.error,
            ])
        }
        return [""] + table.lines(paint)
    }
}

extension DeadLetter {
    /// The facts of a dead letter, with the same names in every verb.
    var members: [(name: String, value: String)] {
        [
            ("id", id.description), ("queue", JSONText.string(queue.rawValue)),
            ("kind", JSONText.string(kind)), ("cause", JSONText.string(cause.rawValue)),
            ("error", JSONText.string(error)), ("attempts", String(attempts)),
            ("died_at", JSONText.string(Times.text(diedAt))), ("payload", JSONText.visible(payload)),
        ]
    }
}
#endif
