#if GRDB
import Sluice

/// Gives the server the text of a message: the row has it.
struct SendMessage: Action {
    static let kind = "send-message"
    var account: String
    var conversation: String
    var message: String

    var queue: QueueName { "chat/\(account)/\(conversation)" }
    var options: EnqueueOptions {
        // While the message waits there is one such action; an edit while it is being sent adds another.
        let key = DeduplicationKey("send-\(message)", policy: .replace)
        return EnqueueOptions(tag: "message-\(message)", key: key)
    }
}

/// Gives the server the file of a message, before the message: both are in one queue.
struct UploadAttachment: Action {
    static let kind = "upload-attachment"
    var account: String
    var conversation: String
    var message: String

    var queue: QueueName { "chat/\(account)/\(conversation)" }
    var options: EnqueueOptions {
        let key = DeduplicationKey("upload-\(message)", policy: .replace)
        return EnqueueOptions(tag: "message-\(message)", key: key)
    }
}

/// Removes a message from the server; its row is gone, so the action has all that is needed.
struct DeleteMessage: Action {
    static let kind = "delete-message"
    var account: String
    var conversation: String
    var message: String

    var queue: QueueName { "chat/\(account)/\(conversation)" }
    var options: EnqueueOptions { EnqueueOptions(tag: "account-\(account)") }
}
#endif
