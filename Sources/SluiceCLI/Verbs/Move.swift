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
        let isComplete = try await store.withBroker { broker in
            var isComplete = true
            if let to, try await !broker.hasQueues(matching: QueuePattern(to.rawValue)) {
                Terminal.remark("'\(Visible.text(to.rawValue))' had no actions before")
            }
            // In reverse order, since each is put before the previous one.
            for id in front ? ids.reversed() : ids {
                let change = try await move(id, broker)
                isComplete = isComplete && change.isMade
            }
            return isComplete
        }
        if !isComplete { throw Failure(.leftover) }
    }

    private func move(_ id: ActionID, _ broker: Broker) async throws -> ActionChange {
        let change: ActionChange
        do throws(SluiceError) {
            if let to {
                change = try await broker.move(id, to: to)
            } else {
                change = try await broker.moveToFront(id)
            }
        } catch {
            throw Failure(error, leaving: "\(id) stays where it is")
        }
        let done = to.map { "is moved to \($0)" } ?? "is at the front of its queue"
        let sentence = try await change.sentence(
            of: id,
            done: done,
            deferred: "it moves when its attempt ends",
            broker
        )
        output.answer(sentence, [("id", id.description), ("result", JSONText.string(change.word))])
        return change
    }
}
#endif
