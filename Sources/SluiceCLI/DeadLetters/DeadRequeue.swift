#if CommandLineTool
internal import ArgumentParser
internal import Sluice

struct DeadRequeue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requeue",
        abstract: "Put dead letters back into their queues, at their old places.",
        discussion: """
            They keep their numbers, and their attempts are counted from zero again. With --at-end each is \
            put after all actions of its queue, under a new number and idempotency key. If a queue now has \
            another type of sort key, it refuses the dead letter: the dead letter is kept, standard error \
            has the reason, and the exit status is 1. With --json: id, result (requeued or missing), new_id \
            (its number now, or null); for queues requeued and kept, how many.

            Example:
              sluice dead requeue --file q.sqlite 17 18
              sluice dead requeue --file q.sqlite --queue 'mail/*' --cause exhausted

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption
    @OptionGroup var choice: DeadChoice

    @Flag(help: "Put them after all actions of the queue; needs numbers.")
    var atEnd = false

    @OptionGroup var output: OutputOption

    func validate() throws {
        if atEnd && choice.ids.isEmpty { throw ValidationError("--at-end needs numbers of dead letters") }
    }

    func run() async throws {
        let isComplete = try await store.withBroker { broker in
            guard let pattern = choice.scope.pattern else { return try await requeueEach(broker) }
            let letters = try await broker.requeueLetters(pattern, cause: choice.cause)
            output.answer(
                "\(DeadChoice.counted(letters.count)) requeued",
                [("requeued", String(letters.count)), ("kept", String(letters.keptCount))]
            )
            if let (action, reason) = letters.firstKept {
                let others = letters.keptCount == 1 ? "" : ", and \(letters.keptCount - 1) more stay too"
                Terminal.remark("\(action) stays a dead letter: \(reason)\(others)")
            } else if letters.count == 0 {
                Terminal.remark("no dead letter matches; `sluice dead list` lists them")
            }
            return letters.keptCount == 0
        }
        if !isComplete { throw Failure(.leftover) }
    }

    /// - Returns: Whether all existed.
    private func requeueEach(_ broker: Broker) async throws -> Bool {
        var isComplete = true
        for id in choice.ids {
            let newID = try await requeue(id, broker)
            isComplete = isComplete && newID != nil
            output.answer(
                newID.map { $0 == id ? "\(id) is requeued" : "\(id) is requeued as \($0)" }
                    ?? "\(id) is not a dead letter; `sluice dead list` lists them",
                [
                    ("id", id.description),
                    ("result", JSONText.string(newID == nil ? "missing" : "requeued")),
                    ("new_id", newID?.description ?? "null"),
                ]
            )
        }
        return isComplete
    }

    /// - Returns: The action's number in the queue.
    private func requeue(_ id: ActionID, _ broker: Broker) async throws -> ActionID? {
        do throws(SluiceError) {
            if atEnd { return try await broker.requeueAtEnd(id) }
            return try await broker.requeue(id) ? id : nil
        } catch {
            throw Failure(ExitStatus(error.code), "\(id) stays a dead letter: \(error.message)")
        }
    }
}
#endif
