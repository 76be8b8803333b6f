#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Replaces the payload of an action.
struct Edit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Replace the payload of an action, in an editor or by an option.",
        discussion: """
            Without --payload the payload opens in the editor that VISUAL or EDITOR names (else vi); an \
            editor that ends with another status than 0, or saves nothing new, changes nothing. The payload \
            must be JSON, and a sealed one cannot be edited. Queue, place and attempts stay. An edit of a \
            running action applies to its next attempt, and is lost if this one succeeds; with \
            --unless-running it is refused. If somebody else has changed the payload while the editor was \
            open, nothing is changed, and your text is kept. With --json: id, result (done, deferred, \
            running, unchanged, conflict or too_late).

            Example:
              sluice edit --file q.sqlite 17
              sluice edit --file q.sqlite 17 --payload '{"text": "Hello"}'

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Argument(help: ArgumentHelp("The number of an action.", valueName: "id"), transform: ActionID.argument)
    var id: ActionID

    @Option(help: ArgumentHelp("The new payload.", valueName: "json"))
    var payload: String?

    @Flag(help: "Change nothing while the action runs.")
    var unlessRunning = false

    @OptionGroup var output: OutputOption

    func run() async throws {
        if let payload { return try await replace(with: payload) }
        let state = try await store.withReader { try await $0.action(id) }
        // Not an editor for what cannot be saved.
        if state.details?.isSealed == true {
            throw Failure(.refused, "\(id) is left as it is: \(Self.isSealed)")
        }
        guard let old = state.details?.payload, isOpen(state.phase) else {
            let isRunning = if case .running = state.phase { true } else { false }
            let result = ActResult(isRunning ? .running : .missing)
            let answer = try await store.withReader { try await edit(to: "").answer(result, $0) }
            output.answer(answer)
            throw Failure(.leftover)
        }
        try await Editor.edit(old) { new in
            guard new != old else {
                let facts = [("id", id.description), ("result", JSONText.string("unchanged"))]
                return output.answer("\(id) is left as it is", facts)
            }
            try await replace(with: new, replacing: old)
        }
    }

    private static let isSealed = "its payload is sealed, and the tool has no key"

    /// Whether an edit of an action in this phase is made, or will be.
    private func isOpen(_ phase: ActionState.Phase) -> Bool {
        switch phase {
        case .running: !unlessRunning
        case .dead, .ended: false
        case .waiting, .scheduled, .retrying, .parked: true
        }
    }

    private func edit(to payload: String, replacing old: String? = nil) -> Act {
        .edit(id, to: .text(payload), replacing: old, ifRunning: unlessRunning ? .refuse : .forNextAttempt)
    }

    private func replace(with payload: String, replacing old: String? = nil) async throws {
        let outcome = try await store.withBroker { broker in
            if try await broker.action(id).details?.isSealed == true {
                throw Failure(ExitStatus(.payloadNotSealed), "\(id) is left as it is: \(Self.isSealed)")
            }
            let result = try await output.perform(edit(to: payload, replacing: old), broker)
            if result.outcome == .done { try await remarkOnParking(of: id, broker) }
            return result.outcome
        }
        guard outcome == .done || outcome == .deferred else { throw Failure(.leftover) }
    }

    /// Says that an edit does not start the action of a parked queue, and what does.
    private func remarkOnParking(of id: ActionID, _ broker: Broker) async throws(SluiceError) {
        let state = try await broker.action(id)
        guard case .parked = state.phase, let queue = state.details?.queue else { return }
        let name = Visible.text(queue.rawValue)
        Terminal.remark("the queue '\(name)' stays parked; `sluice retry '\(name)'` tries the action again")
    }
}
#endif
