#if CommandLineTool
import Sluice

/// What waits in the file: one message to one conversation.
struct SendMessage: Action {
    /// Stored with each message, so it must outlive renames of the type.
    static let kind = "send-message"

    var conversation: String
    /// Counted from 1 in each conversation.
    ///
    /// Sluice needs no such number: the demo does, to check afterwards that nothing was overtaken.
    var number: Int
    var text: String

    /// A queue for each conversation: messages of one wait for each other, those of two never do.
    ///
    /// There is no sort key, so the order is that of arrival.
    var queue: QueueName { QueueName("conversation/\(conversation)") }
}

extension SendMessage {
    /// A message without its text: what the log, the checks and the lanes name it by.
    struct Name: Hashable, Comparable, CustomStringConvertible {
        var conversation: String
        var number: Int

        var description: String { "\(conversation) \(number)" }

        static func < (left: Name, right: Name) -> Bool {
            (left.conversation, left.number) < (right.conversation, right.number)
        }
    }

    var name: Name { Name(conversation: conversation, number: number) }
}
#endif
