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

    let broker: Broker
    let patterns: [QueuePattern]
    /// How many dead letters there were before the run.
    private let deadBefore: Int

    init(broker: Broker, patterns: [QueuePattern]) async throws {
        (self.broker, self.patterns) = (broker, patterns)
        deadBefore = try await broker.engine.deadLetterCount()
    }

    /// Says why fewer commands run at the same time than were asked for.
    ///
    /// - Parameters:
    ///   - concurrency: How many may run at the same time.
    ///   - reason: Why it is that number.
    ///   - rules: How many of a queue may.
    ///   - isServer: Whether the queues are on a server.
    func remark(_ concurrency: Int, by reason: Reason, _ rules: RunRules, isServer: Bool) async throws {
        let slots = rules.discipline.map(\.discipline.slots).max() ?? 1
        if slots > concurrency {
            return Terminal.remark(
                "\(concurrency) commands run at the same time, where the discipline allows \(slots): "
                    + "give --concurrency \(slots)"
            )
        }
        if reason == .processors { return try await remarkOnProcessors(concurrency, rules) }
        guard reason == .option else { return }
        var found: [QueueName: QueueStatus] = [:]
        for pattern in patterns where found.count < concurrency {
            for status in try await broker.statuses(matching: pattern, in: nil, limit: concurrency) {
                found[status.queue] = status
            }
        }
        let count = found.values.reduce(0) { $0 + $1.depth }
        let beside = try found.values.reduce(0) { $0 + min($1.depth, try rules.slots(of: $1.queue)) }
        guard beside < min(count, concurrency) else { return }
        let queue = found.keys.first.map { Visible.text($0.rawValue) } ?? ""
        let place =
            found.count == 1 ? "the queue '\(queue)', which keeps" : "\(found.count) queues, which keep"
        let discipline = isServer ? "" : "give --discipline concurrent:\(concurrency), or "
        Terminal.remark(
            "\(beside == 1 ? "1 command runs" : "\(beside) commands run") at a time, as all \(count) actions "
                + "are in \(place) their order: for \(concurrency) at a time \(discipline)enqueue with "
                + "--queue-field"
        )
    }

    /// The states of queues whose actions could start now.
    private static let mayRun: Set<QueueStatus.State> = [.ready, .running, .stopped]

    /// Says that more could run than there are processors.
    private func remarkOnProcessors(_ concurrency: Int, _ rules: RunRules) async throws {
        var count = 0
        for pattern in patterns where count <= concurrency {
            count += try await broker.statuses(matching: pattern, in: Self.mayRun, limit: concurrency + 1)
                .reduce(0) { $0 + min($1.depth, try rules.slots(of: $1.queue)) }
        }
        guard count > concurrency else { return }
        let commands =
            concurrency == 1 ? "1 command runs at a time" : "\(concurrency) commands run at the same time"
        Terminal.remark("\(commands), as many as there are processors: for more give --concurrency")
    }

    /// Says that what was chosen matches no queue that has actions, if there are such queues.
    func remarkIfNothingMatches() async throws {
        guard !patterns.contains(.all), try await broker.hasQueues(matching: .all) else { return }
        try await broker.remarkIfNone(matches: patterns)
    }

    /// Says how far the run is, whenever that has changed, until the task is cancelled.
    func showProgress() async {
        var last: Statistics?
        while !Task.isCancelled {
            do { try await Task.sleep(for: Self.interval) } catch { return }
            let now = broker.statistics
            guard now != last else { continue }
            if let line = line(now) {
                let error = now.retried > last?.retried ?? 0 ? await lastError() : nil
                Terminal.remark("so far \(line), \(now.running) running" + (error.map { "; \($0)" } ?? ""))
            }
            if now.running == 0 { await remarkIfStuck() }
            last = now
        }
    }

    /// Says which actions need a person, where nothing else would: the run goes on.
    private func remarkIfStuck() async {
        // The next interval tries again what cannot be read now.
        guard let left = try? await broker.engine.workLeft(patterns, isEnough: false) else { return }
        if let stuck = Leftovers.stuckWords(left) { Terminal.remark(stuck) }
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
        let dead = try await max(broker.engine.deadLetterCount() - deadBefore, 0)
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
