#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Tries heads again now.
struct Retry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Try again now: end retry waits and unpark queues.",
        discussion: """
            No attempt is lost or given back, and running actions are not affected. Holds and closed gates \
            stay: see `sluice resume` and `sluice gate`. A running process starts the heads at once.

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
            guard result.done == 0 else { return false }
            return try await !broker.hasQueues(matching: pattern)
        }
        guard isUnknown else { return }
        let name = Visible.text(pattern.rawValue)
        let advice =
            Int(pattern.rawValue) == nil ? "" : ": `sluice show \(name)` names the queue of an action"
        Terminal.remark("no queue that has actions matches '\(name)'\(advice)")
    }
}
#endif
