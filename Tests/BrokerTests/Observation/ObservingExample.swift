import Sluice

/// The messages of a conversation that are not sent yet, as a screen shows them.
actor Outgoing {
    private(set) var messages: [ActionID: ActionState] = [:]
    private var position: ActionPosition?

    /// Returns when the broker is closed or the task is cancelled; the next call continues from there.
    func follow(_ conversation: QueueName, in broker: Broker) async throws {
        for try await update in broker.observe(actions: .queue(conversation), after: position) {
            if update.isSnapshot { messages = [:] }
            for state in update.states { messages[state.id] = state }
            for state in update.gone { messages[state.id] = nil }
            position = update.position
        }
    }
}
