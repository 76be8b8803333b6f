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
        guard let pattern = choice.scope.pattern else {
            return try await output.perform(
                choice.ids.map { atEnd ? .requeueAtEnd($0) : .requeue($0) },
                store
            )
        }
        let act = Act.requeueAll(DeadLetterFilter(form: try pattern.form(), cause: choice.cause))
        let result = try await store.withBroker { try await output.perform(act, $0) }
        if let (action, reason) = result.firstKept {
            let others = result.keptCount == 1 ? "" : ", and \(result.keptCount - 1) more stay too"
            Terminal.remark("\(action) stays a dead letter: \(reason)\(others)")
        } else if result.done == 0 {
            Terminal.remark("no dead letter matches; `sluice dead list` lists them")
        }
        if !act.isComplete(result) { throw Failure(.leftover) }
    }
}
#endif
