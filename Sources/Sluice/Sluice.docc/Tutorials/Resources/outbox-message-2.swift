import Sluice

struct SendMessage: Action {
    static let kind = "send-message"
    var conversation: String
    var text: String

    var queue: QueueName { "conversation/\(conversation)" }
}
