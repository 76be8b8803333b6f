internal import ArgumentParser
internal import Sluice

/// Removes actions.
struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Remove actions, by their numbers or all of a queue.",
        discussion: """
            What waits is gone, and the queue goes on, its parking lifted if the action had caused it. What \
            runs is marked: it is removed when its attempt ends, unless that ends with success. For each \
            action the answer is removed, signalled (it runs) or missing. With --json: id, result.

            Example:
              sluice remove --file q.sqlite 17 18
              sluice remove --file q.sqlite --queue 'conversation/42/*'

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption

    @Argument(help: ArgumentHelp("The numbers of actions.", valueName: "id"), transform: ActionID.argument)
    var ids: [ActionID] = []

    @OptionGroup var scope: Scope
    @OptionGroup var output: OutputOption

    /// Actions that are looked up at once.
    private static let pageSize = 1_000
    private static let pageByteCount = 8 * 1_024 * 1_024

    func validate() throws {
        guard ids.isEmpty == (scope.pattern != nil) else {
            throw ValidationError("give numbers of actions, or one of --queue and --all")
        }
    }

    func run() async throws {
        let missing = try await file.withBroker { broker in
            guard let pattern = scope.pattern else { return try await remove(ids, broker) }
            try await removeAll(pattern, broker)
            return 0
        }
        if missing > 0 { throw Failure(.leftover) }
    }

    /// - Returns: How many were not there.
    private func remove(_ ids: [ActionID], _ broker: Broker) async throws -> Int {
        var missing = 0
        for id in ids {
            let result = try await broker.cancel(id)
            if result == .tooLate { missing += 1 }
            let (word, sentence) = Self.words(result)
            output.answer("\(id) \(sentence)", [("id", id.description), ("result", JSONText.string(word))])
        }
        return missing
    }

    private func removeAll(_ pattern: QueuePattern, _ broker: Broker) async throws {
        let form = try pattern.form()
        var counts: [Cancellation: Int] = [:]
        var last = ActionID(rawValue: 0)
        while true {
            let page = try await broker.store.page(
                of: form,
                after: last,
                limit: Self.pageSize,
                byteLimit: Self.pageByteCount
            )
            guard let end = page.last else { break }
            last = end.id
            // Together, so that many share a commit.
            try await withThrowingTaskGroup(of: Cancellation.self) { group in
                for action in page { group.addTask { try await broker.cancel(action.id) } }
                for try await result in group { counts[result, default: 0] += 1 }
            }
        }
        let (removed, signalled) = (counts[.removed] ?? 0, counts[.signalled] ?? 0)
        output.answer(
            "\(removed) removed, \(signalled) signalled",
            [("removed", String(removed)), ("signalled", String(signalled))]
        )
    }

    private static func words(_ result: Cancellation) -> (word: String, sentence: String) {
        switch result {
        case .removed: ("removed", "is removed")
        case .signalled: ("signalled", "runs; it is removed when its attempt ends, unless it succeeds")
        case .tooLate: ("missing", "is not there")
        }
    }
}
