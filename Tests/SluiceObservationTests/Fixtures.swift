import Observation
import Sluice
import SluiceTestKit

/// A message of a conversation.
struct Message: Action, Equatable {
    static let kind = "message"
    var queue: QueueName
    var text: String

    init(_ text: String, in queue: QueueName = "chat/1") { (self.text, self.queue) = (text, queue) }
}

/// Returns when a condition on models holds; it is read again after each of their changes.
@MainActor
func until(_ condition: () -> Bool) async throws {
    while true {
        let changed = EventLog<Void>()
        let holds = withObservationTracking {
            condition()
        } onChange: {
            changed.append(())
        }
        if holds { return }
        _ = try await changed.wait(forCount: 1)
    }
}
