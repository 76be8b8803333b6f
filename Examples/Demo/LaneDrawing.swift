#if CommandLineTool
/// Makes lines of text of a picture; knows a width and no terminal.
struct LaneDrawing {
    /// Wider lanes are harder to read.
    static let maximumWidth = 100
    private static let nameWidth = 10
    private static let countWidth = 5
    private static let gap = "  "

    let width: Int
    let paint: Paint

    init(width: Int, paint: Paint) {
        self.width = min(width, Self.maximumWidth)
        self.paint = paint
    }

    /// As in `Ana  ██████░░░░  9/15  sending "Are you up already?"`.
    func line(_ lane: Lane) -> String {
        let name = lane.conversation.cut(to: Self.nameWidth).padded(to: Self.nameWidth)
        let count = "\(lane.done)/\(lane.total)".rightAligned(to: Self.countWidth)
        let used = Self.nameWidth + barWidth + Self.countWidth + 3 * Self.gap.count
        let text = words(lane.activity).cut(to: max(width - used, 0))
        return [paint.bold(name), bar(lane), count, colour(lane.activity)(text)].joined(separator: Self.gap)
    }

    /// Lines that ``footer(_:)`` has.
    let footerHeight = 2

    /// How things stand as a whole.
    func footer(_ picture: Picture) -> [String] {
        let troubles = picture.log.count {
            $0.event != .delivered && $0.event != .recognised || $0.isAnswerLost
        }
        let facts = [
            picture.elapsed.inSeconds,
            picture.worker.map { "worker \($0) runs" } ?? "no worker",
            "\(picture.count(.delivered)) of \(picture.total) delivered",
            "\(troubles) failures",
            "\(picture.count(.recognised)) duplicates",
        ]
        return ["", paint.dim(facts.joined(separator: " · ").cut(to: width))]
    }

    private var barWidth: Int { width >= 72 ? 15 : 5 }

    private func bar(_ lane: Lane) -> String {
        let filled = lane.total > 0 ? barWidth * lane.done / lane.total : 0
        return paint.green(String(repeating: "█", count: filled))
            + paint.dim(String(repeating: "░", count: barWidth - filled))
    }

    private func words(_ activity: Lane.Activity) -> String {
        switch activity {
        case .sending(let text, let attempt) where attempt > 1: "sending again (\(attempt)) \"\(text)\""
        case .sending(let text, _): "sending \"\(text)\""
        case .waitingForRetry(let remaining, _, let error): "retry in \(remaining.inSeconds): \(error)"
        case .waiting(let because): because
        case .done: "done"
        }
    }

    private func colour(_ activity: Lane.Activity) -> (String) -> String {
        switch activity {
        case .sending: { $0 }
        case .waitingForRetry: paint.yellow
        case .waiting: paint.dim
        case .done: paint.green
        }
    }
}

/// Colours, or none.
struct Paint {
    let isOn: Bool

    func bold(_ text: String) -> String { wrap(text, "1") }
    func dim(_ text: String) -> String { wrap(text, "2") }
    func green(_ text: String) -> String { wrap(text, "32") }
    func yellow(_ text: String) -> String { wrap(text, "33") }

    private func wrap(_ text: String, _ code: String) -> String {
        isOn && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
#endif
