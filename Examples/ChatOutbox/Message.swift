#if CommandLineTool && GRDB
import Foundation
import GRDB
import Sluice

/// A message, as the application stores and shows it.
struct Message: Codable, Identifiable, FetchableRecord, MutablePersistableRecord {
    var id: Int64?
    var conversation: String
    var text: String
    var sentAt: Date?
    /// Counts what must happen once.
    ///
    /// An application has no need of it; our tests look at it.
    var timesSent = 0

    enum Columns {
        static let sentAt = Column(CodingKeys.sentAt)
        static let timesSent = Column(CodingKeys.timesSent)
    }

    /// A conversation has a queue of its own: its messages leave one by one, in their order.
    var queue: QueueName { "conversation/\(conversation)" }

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

/// What is to be done for a message: the row has the rest.
struct SendMessage: Action {
    static let kind = "send-message"
    var message: Int64
    var conversation: String
    var queue: QueueName { "conversation/\(conversation)" }
}
#endif
