#if GRDB
import Foundation
import GRDB
import Sluice

/// A message, as the application stores and shows it.
struct Message: Codable, Identifiable, FetchableRecord, PersistableRecord {
    var id: Int64?
    var conversation: String
    var text: String
    var sentAt: Date?
    /// Counts what must happen once, for our tests.
    var timesSent = 0
}

/// What is to be done for a message: the row has the rest.
struct SendMessage: Action {
    static let kind = "send-message"
    var message: Int64
    var conversation: String
    /// A conversation has a queue of its own: its messages leave one by one, in their order.
    var queue: QueueName { "conversation/\(conversation)" }
    /// By its tag the action goes with the message: see the trigger.
    var options: EnqueueOptions { EnqueueOptions(tag: "message-\(message)") }
}
#endif
