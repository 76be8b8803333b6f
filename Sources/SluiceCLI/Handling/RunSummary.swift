#if CommandLineTool
internal import Sluice

/// Remarks of a run: at its start on its concurrency, now and then on its progress, and at its end on its
/// result.
struct RunSummary: Sendable {
    /// How often a run says how far it is: on a terminal, and in a log.
    private static let interval: Duration = Terminal.showsProgress ? .seconds(10) : .seconds(60)

    /// Why a run has its concurrency.
    enum Reason {
        case option
        case processors
        case `default`
    }

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
    ///   - reason: Why it is that number.
    ///   - slots: The most of one queue, by the disciplines.
    func remark(_ concurrency: Int, by reason: Reason, slots: Int) async throws {
        if slots > concurrency {
            return Terminal.remark(
                "\(concurrency) commands run at the same time, where the discipline allows \(slots): "
                    + "give --concurrency \(slots)"
            )
        }
        if reason == .processors { return try await remarkOnProcessors(concurrency, slots: slots) }
        guard reason == .option, concurrency > 1, slots == 1 else { return }
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

    /// The states of queues whose actions could start now.
    private static let mayRun: Set<QueueStatus.State> = [.ready, .running, .stopped]

    /// Says that more could run than there are processors.
    private func remarkOnProcessors(_ concurrency: Int, slots: Int) async throws {
        var count = 0
        for pattern in patterns where count <= concurrency {
            count += try await broker.statuses(matching: pattern, in: Self.mayRun, limit: concurrency + 1)
                .reduce(0) { $0 + min($1.depth, slots) }
        }
        guard count > concurrency else { return }
        let commands =
            concurrency == 1 ? "1 command runs at a time" : "\(concurrency) commands run at the same time"
        Terminal.remark("\(commands), as many as there are processors: for more give --concurrency")
    }

    /// Says that what was chosen matches no queue that has actions, if there are such queues.
    func remarkIfNothingMatches() async throws {
        guard !patterns.contains(.all) else { return }
        for pattern in patterns where try await broker.hasQueues(matching: pattern) { return }
        guard try await broker.hasQueues(matching: .all) else { return }
        let names = patterns.map { "'\(Visible.text($0.rawValue))'" }.joined(separator: " or ")
        Terminal.remark("no queue that has actions matches \(names)")
    }

    /// Says how far the run is, whenever that has changed, until the task is cancelled.
    func showProgress() async {
        var last = Statistics()
        while !Task.isCancelled {
            do { try await Task.sleep(for: Self.interval) } catch { return }
            let now = broker.statistics
            if now != last, let line = line(now) {
                let error = now.retried > last.retried ? await lastError() : nil
                Terminal.remark("so far \(line), \(now.running) running" + (error.map { "; \($0)" } ?? ""))
            }
            last = now
        }
    }

    /// Returns why a queue of the run waits for its retry.
    private func lastError() async -> String? {
        for pattern in patterns {
            // What cannot be read now is not worth the end of the run.
            let found = try? await broker.statuses(matching: pattern, in: [.retry], limit: 1).first
            guard let found, let error = found.lastError else { continue }
            return "queue '\(Visible.text(found.queue.rawValue))': "
                + Visible.beginning(of: error, count: Self.errorLength)
        }
        return nil
    }

    /// How much of an error a line shows.
    private static let errorLength = 200

    /// Counts in one line the attempts by their outcome, and new dead letters, if there are any.
    func finish() async throws {
        let counts = line(broker.statistics)
        // Also those of actions that never started, as they had expired.
        let dead = try await max(broker.deadLetterCount() - deadBefore, 0)
        guard counts != nil || dead > 0 else {
            if Terminal.showsProgress { Terminal.remark("nothing ran, \(try await leftCount()) left") }
            return
        }
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

extension Statistics {
    /// Attempts that have not ended.
    fileprivate var running: Int { max(started - succeeded - retried - failed - released - removed, 0) }
}
#endif
