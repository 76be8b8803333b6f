#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// The queues that a verb shows: all, unless some are named.
struct ShownQueues: ParsableArguments {
    @Argument(
        help: ArgumentHelp("A queue's name, or a prefix that ends in /*.", valueName: "pattern"),
        completion: .queueNames
    )
    var name: String?

    @Option(help: ArgumentHelp("The same as an option.", valueName: "pattern"), completion: .queueNames)
    var queue: String?

    var pattern: QueuePattern { QueuePattern(name ?? queue ?? "*") }

    func validate() throws {
        if name != nil && queue != nil { throw ValidationError("give the queue once") }
    }
}
#endif
