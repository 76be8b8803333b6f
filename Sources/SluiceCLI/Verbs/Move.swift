#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Moves actions.
struct Move: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Move actions to another queue, or to the front of their own.",
        discussion: """
            With --to, sort key and number define the action's place in the other queue; a running action \
            moves when its attempt ends. With --front the action starts next (of several, the first one \
            named): it gets a smaller sort key. A running action is not changed. Attempts and retry waits \
            are kept. The answer for each is done, deferred (it moves later), running (it is not changed) or \
            too late (it does not exist). With --json: id, result (done, deferred, running or too_late). A \
            refused action ends the command; those before it have moved.

            Example:
              sluice move --file q.sqlite 17 18 --to conversation/42
              sluice move --file q.sqlite 17 --front

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Argument(help: ArgumentHelp("The numbers of actions.", valueName: "id"), transform: ActionID.argument)
    var ids: [ActionID]

    @Option(
        help: ArgumentHelp("The queue to move them to.", valueName: "queue"),
        completion: .queueNames,
        transform: QueueName.argument
    )
    var to: QueueName?

    @Flag(help: "Move each to the front of its queue.")
    var front = false

    @OptionGroup var output: OutputOption

    func validate() throws {
        guard (to != nil) != front else { throw ValidationError("give one of --to and --front") }
    }

    func run() async throws {
        guard let to else {
            // In reverse order, since each is put before the previous one.
            return try await output.perform(ids.reversed().map { .moveToFront($0) }, store)
        }
        try await output.perform(ids.map { .move($0, to: to) }, store) { broker in
            if try await !broker.hasQueues(matching: QueuePattern(to.rawValue)) {
                Terminal.remark("'\(Visible.text(to.rawValue))' had no actions before")
            }
        }
    }
}
#endif
