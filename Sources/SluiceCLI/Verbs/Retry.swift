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
        let (count, isKnown) = try await store.withBroker { broker in
            (try await broker.retryNow(pattern), try await broker.hasQueues(matching: pattern))
        }
        output.answer(
            count == 1 ? "1 queue is tried again" : "\(count) queues are tried again",
            [("queue", JSONText.string(pattern.rawValue)), ("queues", String(count))]
        )
        guard count == 0, !isKnown else { return }
        let name = Visible.text(pattern.rawValue)
        let advice =
            Int(pattern.rawValue) == nil ? "" : ": `sluice show \(name)` names the queue of an action"
        Terminal.remark("no queue that has actions matches '\(name)'\(advice)")
    }
}
#endif
