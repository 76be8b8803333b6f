#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Lists queues with work, and why each does not move.
struct Queues: AsyncParsableCommand, Look {
    static let configuration = CommandConfiguration(
        abstract: "List the queues with work, and why each does not move.",
        discussion: """
            Works while another process runs the file. Times are in UTC; a terminal shows durations. The \
            table has the first reason and the last error of each queue, and --state asks for the first: a \
            held queue without a route is found by --because held. `sluice show` has all reasons. With \
            --json: queue, depth, state, because (the first), reasons (all), parked_by (the action that \
            parked it), head, head_kind, attempt, blocked_until, oldest_age_s, last_error. A process that \
            keeps the write lock is named on standard error. `no route` means that no process that runs the \
            queues has a route for this one: each was started for others (--queue), or its program has no \
            handler.

            ORDER. By default queues that need a person are first (parked, undecodable, of an unknown kind, \
            without a route, refused by the file), then those that wait for a hold, a gate or a retry, then \
            stopped ones, those that run or could run, and scheduled ones; of each the oldest first. --sort \
            age is the oldest action first, --sort depth the most actions. For these orders, and with \
            --because, all queues of --queue and --state are read, \(Self.readLimit) at most: that takes \
            about 1 KB of memory a queue, 100 MB for 100,000. --sort name alone reads only what it shows.

            Example:
              sluice queues --file q.sqlite 'conversation/*'
              sluice queues --file q.sqlite --state parked --because 'no such room'
              sluice queues --file q.sqlite --because gate --sort depth --limit 20

            \(ExitStatus.help)
            """
    )

    /// The most queues that are read to be sorted.
    private static let readLimit = 1_000_000

    @OptionGroup var store: StoreOption
    @OptionGroup var selection: Selection

    @Option(help: ArgumentHelp("Only queues in this state; can be repeated.", valueName: "state"))
    var state: [StateChoice] = []

    @Option(
        help: ArgumentHelp(
            "Only queues with this kind of reason (a state, permit, locked, refused, blocked or owned), and "
                + "those with this text in a reason or in the last error.",
            valueName: "kind or text"
        )
    )
    var because: String?

    @Option(help: ArgumentHelp("trouble, name, age or depth.", valueName: "order"))
    var sort = QueueOrder.trouble

    @OptionGroup var output: OutputOption

    func validate() throws {
        if because == "" { throw ValidationError("--because is empty; give a kind of reason, or text") }
    }

    func run() async throws {
        let found = try await store.withReader { broker in
            let found = try await broker.lookBesideLocks { try await find(broker) }
            if found.isEmpty { try await broker.remarkIfNone(matches: [selection.pattern]) }
            if !output.json { await broker.remarkOnOwners() }
            return found
        }
        let queues = selection.cut(found, named: "queues")
        Terminal.answer(output.json ? queues.map(\.json) : QueueStatus.table(queues).lines(output.paint))
    }

    private func find(_ broker: Broker) async throws -> [QueueStatus] {
        let isListed = sort == .name && because == nil
        let states = state.isEmpty ? nil : Set(state.map(\.state))
        var found = try await broker.statuses(
            matching: selection.pattern,
            // With states it is read in pages.
            in: isListed ? states : states ?? Set(QueueStatus.State.allCases),
            limit: isListed ? selection.readLimit : max(selection.readLimit, Self.readLimit)
        )
        if let because {
            // A state in another spelling, or any text.
            let words = Set([because, StateChoice(argument: because)?.state.rawValue ?? because])
            found.removeAll { queue in !words.contains { queue.isBecause(of: $0) } }
        }
        // They are read by name.
        return sort == .name ? found : found.sorted(by: sort.isBefore)
    }
}

/// A state of queues on the command line: `no-route` or `no route`, `retry` or `retrying`.
struct StateChoice: ExpressibleByArgument {
    let state: QueueStatus.State

    init?(argument: String) {
        let spelled = String(argument.map { $0 == "-" ? " " : $0 })
        // `show --id` says it of the action.
        let word = spelled == "retrying" ? QueueStatus.State.retry.rawValue : spelled
        guard let state = QueueStatus.State(rawValue: word), state != .empty else { return nil }
        self.state = state
    }

    static var allValueStrings: [String] {
        QueueStatus.State.allCases.filter { $0 != .empty }
            .map { state in String(state.rawValue.map { $0 == " " ? "-" : $0 }) }
    }
}
#endif
