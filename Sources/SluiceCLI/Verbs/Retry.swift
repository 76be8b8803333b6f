#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Tries heads again now.
struct Retry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Try again now: end retry waits and unpark queues.",
        discussion: """
            No attempt is lost or given back, and running actions are not affected. Holds and closed gates \
            stay, and are named on standard error: see `sluice resume` and `sluice gate`. A running process \
            starts the heads at once. With --json: queue, queues (how many are tried again).

            Example:
              sluice retry --file q.sqlite conversation/42
              sluice retry --file q.sqlite --all

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption
    @Argument(
        help: ArgumentHelp("A queue's name, or a prefix that ends in /*.", valueName: "pattern"),
        completion: .queueNames
    )
    var name: String?

    @OptionGroup var scope: Scope
    @OptionGroup var output: OutputOption

    func run() async throws {
        let pattern = try scope.required(name)
        let act = Act.retryNow(.matching(try pattern.form()))
        let isUnknown = try await store.withBroker { broker in
            let result = try await output.perform(act, broker)
            if result.done == 0, try await !broker.hasQueues(matching: pattern) { return true }
            try await remarkOnObstacles(of: pattern, isRetried: result.done > 0, broker)
            return false
        }
        guard isUnknown else { return }
        let word = Visible.text(pattern.rawValue)
        let advice =
            Int(pattern.rawValue) == nil ? "" : ": `sluice show \(word)` names the queue of an action"
        Terminal.remark("no queue that has actions matches '\(word)'\(advice)")
        if name != nil { throw Failure(.leftover) }
    }

    /// Says what still keeps the queues: a retry ends no hold and opens no gate.
    private func remarkOnObstacles(of pattern: QueuePattern, isRetried: Bool, _ broker: Broker) async throws {
        let word = Visible.text(pattern.rawValue)
        if case .exact(let queue) = try pattern.form() {
            let reasons = try await broker.status(of: queue).because
            let obstacle = reasons.first { $0.state == .held || $0.state == .gate }
            guard isRetried else {
                let why = (obstacle ?? reasons.first).map { ", \($0.brief(at: nil))" } ?? ""
                return Terminal.remark("no retry or parking to end: \(word)\(why)")
            }
            if let obstacle { Terminal.remark("\(word) does not start: \(obstacle)") }
            return
        }
        let kept = try await broker.statuses(matching: pattern, in: [.held, .gate], limit: Self.countLimit)
        guard !kept.isEmpty else { return }
        let count = kept.count < Self.countLimit ? "\(kept.count)" : "at least \(kept.count)"
        let queues = kept.count == 1 ? "1 queue does" : "\(count) queues do"
        Terminal.remark("\(queues) not start, held or at a gate: `sluice queues --queue '\(word)'` shows why")
    }

    /// How many queues that do not start are counted.
    private static let countLimit = 1_000
}
#endif
