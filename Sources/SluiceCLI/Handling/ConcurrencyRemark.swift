#if CommandLineTool
internal import Sluice

/// Says why a run performs fewer actions at the same time than one may expect.
struct ConcurrencyRemark: Sendable {
    /// Why a run has its concurrency.
    enum Reason {
        case option
        case processors
        case `default`
    }

    let broker: Broker
    let patterns: [QueuePattern]
    /// How many actions may run at the same time.
    let concurrency: Int
    let reason: Reason
    let rules: RunRules
    /// Whether each action runs a command of its own.
    let isExec: Bool
    let isServer: Bool

    /// The states of queues whose actions could start now.
    private static let mayRun: Set<QueueStatus.State> = [.ready, .running, .stopped]

    /// How long to wait before the queues are read again.
    private static let firstPause: Duration = .seconds(1)
    private static let longestPause: Duration = .seconds(60)

    /// Says it, if the actions that are there now call for it.
    ///
    /// - Returns: Whether it was said.
    func say() async throws -> Bool {
        // The last line of a run counts what it has done.
        guard let text = try await text(), !Task.isCancelled else { return false }
        Terminal.remark(text)
        return true
    }

    /// Says it as soon as later actions call for it, until the task is cancelled.
    ///
    /// The queues are read only while actions run, at growing intervals.
    func sayLater() async {
        var (pause, started) = (Self.firstPause, broker.statistics.started)
        while !Task.isCancelled {
            do { try await Task.sleep(for: pause) } catch { return }
            let now = broker.statistics
            guard now.running > 0 || now.started > started else {
                pause = Self.firstPause
                continue
            }
            // What cannot be read now is read again later.
            if let isSaid = try? await say(), isSaid { return }
            // At the end of such a run few queues are left, which needs no words.
            if reason == .option, now.running >= concurrency { return }
            (pause, started) = (min(pause * 2, Self.longestPause), now.started)
        }
    }

    /// Returns the remark.
    private func text() async throws -> String? {
        if let text = try await tooManyReady() { return text }
        return reason == .option ? try await tooFewQueues() : nil
    }

    /// More actions could run than may.
    private func tooManyReady() async throws -> String? {
        let slots = rules.discipline.map(\.discipline.slots).max() ?? 1
        guard reason == .processors || slots > concurrency else { return nil }
        var count = 0
        for pattern in patterns where count <= concurrency {
            count += try await broker.statuses(matching: pattern, in: Self.mayRun, limit: concurrency + 1)
                .reduce(0) { $0 + min($1.depth, try rules.slots(of: $1.queue)) }
        }
        guard count > concurrency else { return nil }
        if slots > concurrency {
            return "\(beside(concurrency)), where the discipline allows \(slots): give --concurrency \(slots)"
        }
        return "\(beside(concurrency)), as many as there are processors: for more give --concurrency"
    }

    /// Fewer actions run than may, as they are in few queues, which keep their order.
    private func tooFewQueues() async throws -> String? {
        var found: [QueueName: QueueStatus] = [:]
        for pattern in patterns where found.count < concurrency {
            for status in try await broker.statuses(matching: pattern, in: nil, limit: concurrency) {
                found[status.queue] = status
            }
        }
        let count = found.values.reduce(0) { $0 + $1.depth }
        let running = try found.values.reduce(0) { $0 + min($1.depth, try rules.slots(of: $1.queue)) }
        guard running < min(count, concurrency) else { return nil }
        let queue = found.keys.first.map { Visible.text($0.rawValue) } ?? ""
        let place =
            found.count == 1 ? "the queue '\(queue)', which keeps" : "\(found.count) queues, which keep"
        let discipline = isServer ? "" : "give --discipline concurrent:\(concurrency), or "
        let advice = "\(discipline)enqueue into several queues, with --queue or --queue-field"
        return "\(atATime(running)), as all \(count) actions are in \(place) their order: for \(concurrency) "
            + "at a time \(advice)"
    }

    /// The thing of which some run: with `--pipe` there is one command for all actions.
    private var thing: String { isExec ? "command" : "action" }

    private func atATime(_ count: Int) -> String {
        count == 1 ? "1 \(thing) runs at a time" : "\(count) \(thing)s run at a time"
    }

    private func beside(_ count: Int) -> String {
        count == 1 ? atATime(1) : "\(count) \(thing)s run at the same time"
    }
}
#endif
