#if CommandLineTool
internal import Sluice

/// Remarks of a run: at its start on its concurrency, on a terminal now and then on its progress, and at its
/// end on its result.
struct RunSummary: Sendable {
    /// How often a terminal is shown how far the run is.
    static let interval: Duration = .seconds(10)

    let broker: any ToolBroker
    let patterns: [QueuePattern]
    /// How many dead letters there were before the run.
    private let deadBefore: Int

    init(broker: any ToolBroker, patterns: [QueuePattern]) async throws {
        (self.broker, self.patterns) = (broker, patterns)
        deadBefore = try await broker.deadLetterCount()
    }

    /// Says why fewer commands run at the same time than were asked for.
    ///
    /// - Parameters:
    ///   - concurrency: How many may run at the same time.
    ///   - isAsked: Whether that number was given.
    ///   - slots: The most of one queue, by the disciplines.
    func remark(_ concurrency: Int, isAsked: Bool, slots: Int) async throws {
        if slots > concurrency {
            return Terminal.remark(
                "\(concurrency) commands run at the same time, where the discipline allows \(slots): "
                    + "give --concurrency \(slots)"
            )
        }
        guard isAsked, concurrency > 1, slots == 1 else { return }
        var found: [QueueStatus] = []
        for pattern in patterns where found.count < 2 {
            found += try await broker.statuses(matching: pattern, in: nil, limit: 2)
        }
        guard found.count == 1, found[0].depth > 1 else { return }
        let queue = Visible.text(found[0].queue.rawValue)
        Terminal.remark(
            "1 command runs at a time, as all \(found[0].depth) actions are in the queue '\(queue)', which "
                + "keeps their order: for \(concurrency) at a time give --discipline "
                + "concurrent:\(concurrency), or enqueue with --queue-field"
        )
    }

    /// Says that what was chosen matches no queue that has actions, if there are such queues.
    func remarkIfNothingMatches() async throws {
        guard !patterns.contains(.all) else { return }
        for pattern in patterns where try await broker.hasQueues(matching: pattern) { return }
        guard try await broker.hasQueues(matching: .all) else { return }
        let names = patterns.map { "'\(Visible.text($0.rawValue))'" }.joined(separator: " or ")
        Terminal.remark("no queue that has actions matches \(names)")
    }

    /// Shows a terminal how far the run is, until the task is cancelled.
    func showProgress() async {
        guard Terminal.showsProgress else { return }
        var last = Statistics()
        while !Task.isCancelled {
            do { try await Task.sleep(for: Self.interval) } catch { return }
            let now = broker.statistics
            if now != last, let line = line(now) { Terminal.remark("so far \(line)") }
            last = now
        }
    }

    /// Counts in one line the attempts by their outcome, and new dead letters, if there are any.
    func finish() async throws {
        let counts = line(broker.statistics)
        // Also those of actions that never started, as they had expired.
        let dead = try await max(broker.deadLetterCount() - deadBefore, 0)
        guard counts != nil || dead > 0 else { return }
        let letters = dead == 0 ? nil : dead == 1 ? "1 dead letter" : "\(dead) dead letters"
        let parts = [counts, letters, "\(try await leftCount()) left"].compactMap { $0 }
        Terminal.remark(parts.joined(separator: ", "))
    }

    private func leftCount() async throws -> Int {
        if patterns == [.all] { return try await broker.actionCount() }
        var depths: [QueueName: Int] = [:]
        for pattern in patterns {
            for status in try await broker.statuses(matching: pattern, in: nil, limit: .max) {
                depths[status.queue] = status.depth
            }
        }
        return depths.values.reduce(0, +)
    }

    private func line(_ counts: Statistics) -> String? {
        guard counts.started > 0 else { return nil }
        return "\(counts.succeeded) done, \(counts.retried) retried, \(counts.failed) failed"
    }
}
#endif
