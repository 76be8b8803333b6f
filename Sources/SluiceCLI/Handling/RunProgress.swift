#if CommandLineTool
internal import Sluice

/// Remarks of a run: on its concurrency, now and then on its progress, and at its end on its result.
struct RunProgress: Sendable {
    /// How often a run says how far it is: on a terminal, and in a log.
    private static let interval: Duration = Terminal.showsProgress ? .seconds(10) : .seconds(60)

    let broker: Broker
    let patterns: [QueuePattern]
    /// How many dead letters there were before the run.
    private let deadBefore: Int

    init(broker: Broker, patterns: [QueuePattern]) async throws {
        (self.broker, self.patterns) = (broker, patterns)
        deadBefore = try await broker.engine.deadLetterCount()
    }

    /// Runs the queues: remarks on what it does, and counts at its end what it has done.
    ///
    /// The counts are the last line also if the run ends by an error.
    func follow<Result>(
        _ concurrency: ConcurrencyRemark,
        _ run: () async throws -> Result
    ) async throws -> Result {
        let isSaid = try await concurrency.say()
        try await remarkIfNothingMatches()
        let progress = Task { await showProgress() }
        let later = Task { if !isSaid { await concurrency.sayLater() } }
        let lock = Task { await LockRemark.sayWhoDelays(broker) }
        let remarks = [progress, later, lock]
        defer { for task in remarks { task.cancel() } }
        do {
            let result = try await run()
            for task in remarks { task.cancel() }
            try await finish()
            return result
        } catch let error as SluiceError {
            guard let counts = line(broker.statistics) else { throw error }
            LockRemark.report(error)
            Terminal.remark(counts)
            throw Failure(ExitStatus(error.code))
        }
    }

    /// Says that what was chosen matches no queue that has actions, if there are such queues.
    private func remarkIfNothingMatches() async throws {
        guard !patterns.contains(.all), try await broker.hasQueues(matching: .all) else { return }
        for pattern in patterns where try await broker.hasQueues(matching: pattern) { return }
        RemarkLogHandler.hasSaid(patterns)
        try await broker.remarkIfNone(matches: patterns)
    }

    /// Says how far the run is, whenever that has changed, until the task is cancelled.
    private func showProgress() async {
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
    private func finish() async throws {
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
    var running: Int { max(started - succeeded - retried - failed - released - removed, 0) }
}
#endif
