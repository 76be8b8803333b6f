#if CommandLineTool && GRDB
import GRDB
import Sluice

/// A message, as the application stores and shows it.
struct Message: Codable, Identifiable, FetchableRecord, PersistableRecord {
    var id: Int64?
    var room: String
    var text: String
    /// The path of the file that the message is about, if any, and what the server calls it after the upload.
    var file: String?
    var fileURI: String?
    /// Whether the server may have it, so that it can be neither edited nor cancelled.
    ///
    /// The server knows a message by its transaction id alone: after a lost answer it would ignore an edit.
    var isOnItsWay = false
    /// The server's name for it, after it has been sent.
    var eventID: String?
    /// Why the server does not want it.
    var refusal: String?

    var line: String {
        let word = eventID.map { "sent as \($0)" } ?? refusal.map { "refused: \($0)" } ?? "to be sent"
        let start = text.prefix(60).split(whereSeparator: \.isNewline).joined(separator: " ")
        return "\(id ?? 0) \(room) [\(word)] \(start)"
    }
}

/// Who sends, and to which server.
struct Account: Codable, FetchableRecord, PersistableRecord {
    var user: String
    var server: String
    var device: String
    /// `nil` from the moment at which the server does not know it any more until the next login.
    var token: String?

    /// It is open while there is a token: see the triggers.
    var gate: GateName { "account:\(user)" }
}

/// What is to be done for a message: the row has the rest.
struct SendMessage: Action {
    static let kind = "send-message"
    var message: Int64
    var room: String

    /// A room has a queue of its own: its messages leave one by one, in their order.
    var queue: QueueName { "room/\(room)" }
    /// By its tag the action goes with the message: see the trigger.
    var options: EnqueueOptions { EnqueueOptions(tag: "message-\(message)") }
}

/// What is to be done before it for a message with a file.
struct UploadFile: Action {
    static let kind = "upload-file"
    var message: Int64
    var room: String

    var queue: QueueName { "room/\(room)" }
    var options: EnqueueOptions { EnqueueOptions(tag: "message-\(message)") }
}
#endif
