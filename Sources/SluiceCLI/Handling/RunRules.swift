#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// In which order the queues of a run start their actions, and when.
struct RunRules: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The order of each queue: first-in-first-out, last-in-first-out, concurrent:NUMBER or pass-over; "
                + "of some queues, PATTERN=DISCIPLINE. Can be repeated.",
            valueName: "discipline"
        )
    )
    var discipline: [DisciplineChoice] = []

    @Option(
        help: ArgumentHelp(
            "Start the actions of a queue in batches, when this many wait; or after --batch-wait.",
            valueName: "number"
        )
    )
    var batch: Int?

    @Option(
        help: ArgumentHelp(
            "How old the oldest action of a batch may get before the batch starts (default: 30s).",
            valueName: "span"
        )
    )
    var batchWait: Span?

    private static let defaultWait: Duration = .seconds(30)

    func validate() throws {
        if let batch, batch < 1 { throw ValidationError("--batch is \(batch); give 1 or more") }
        if batchWait != nil && batch == nil { throw ValidationError("--batch-wait needs --batch") }
        let patterns = discipline.map { $0.pattern?.rawValue ?? "" }
        if let twice = patterns.first(where: { name in patterns.count { $0 == name } > 1 }) {
            throw ValidationError(
                twice.isEmpty ? "give one --discipline for all queues" : "'\(twice)' has two disciplines"
            )
        }
    }

    /// Returns how many actions of a queue may run at the same time.
    func slots(of queue: QueueName) throws -> Int {
        let fitting = try discipline.filter { try $0.pattern?.form().matches(queue) ?? true }
        // The most specific pattern decides, and none is the least specific.
        let chosen = fitting.max { $0.pattern?.rawValue.count ?? -1 < $1.pattern?.rawValue.count ?? -1 }
        return chosen?.discipline.slots ?? 1
    }

    /// The options of queues by pattern.
    ///
    /// - Parameter patterns: The queues of the run, which a discipline without a pattern and batches are for.
    func options(for patterns: [QueuePattern]) -> [QueuePattern: QueueOptions] {
        var options: [QueuePattern: QueueOptions] = [:]
        if let batch {
            let start = QueueStart.batch(count: batch, after: batchWait?.duration ?? Self.defaultWait)
            for pattern in patterns { options[pattern, default: QueueOptions()].start = start }
        }
        for choice in discipline where choice.pattern == nil {
            for pattern in patterns {
                options[pattern, default: QueueOptions()].discipline = choice.discipline
            }
        }
        // A named pattern has the last word.
        for choice in discipline {
            guard let pattern = choice.pattern else { continue }
            options[pattern, default: QueueOptions()].discipline = choice.discipline
        }
        return options
    }
}

/// A discipline on the command line: `concurrent:4`, `mail/*=last-in-first-out`.
struct DisciplineChoice: ExpressibleByArgument {
    let discipline: QueueDiscipline
    /// `nil`: all queues of the run.
    let pattern: QueuePattern?

    init?(argument: String) {
        // A queue's name may have the sign itself, a discipline does not.
        let parts = argument.split(separator: "=", omittingEmptySubsequences: false)
        guard let word = parts.last, let discipline = Self.discipline(String(word)) else { return nil }
        self.discipline = discipline
        let pattern = parts.dropLast().joined(separator: "=")
        guard parts.count > 1 else {
            self.pattern = nil
            return
        }
        guard !pattern.isEmpty else { return nil }
        self.pattern = QueuePattern(pattern)
    }

    private static func discipline(_ word: String) -> QueueDiscipline? {
        switch word {
        case "first-in-first-out": return .firstInFirstOut
        case "last-in-first-out": return .lastInFirstOut
        case "pass-over": return .passOver
        default:
            let parts = word.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0] == "concurrent", let slots = Int(parts[1]) else { return nil }
            guard (1...QueueDiscipline.maximumSlots).contains(slots) else { return nil }
            return .concurrent(slots)
        }
    }
}
#endif
