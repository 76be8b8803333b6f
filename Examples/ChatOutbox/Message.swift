#if GRDB
import Foundation
import GRDB
import Sluice

/// Who sends.
struct Account: Codable, Identifiable, FetchableRecord, PersistableRecord {
    /// The server's name for it, of letters and digits: it is a part of the names of queues.
    var id: String
    /// Proves to the server who sends; `nil` from an answer 401 to the next login.
    var token: String?
    /// The number of the login that gave the token: a later one has another number.
    var login = 0

    enum Columns {
        static let token = Column(CodingKeys.token)
        static let login = Column(CodingKeys.login)
    }
}

extension Account {
    var queues: QueuePattern { "chat/\(id)/*" }
    /// Open while the account has a token that the server accepts.
    var loginGate: GateName { "login:\(id)" }
    /// Closed while the server is busy with this account.
    var serverGate: GateName { "server:\(id)" }
}

/// A message, as the application stores and shows it.
struct Message: Codable, Identifiable, FetchableRecord, PersistableRecord {
    /// Made here, so that the server recognizes the message at each attempt, edit and deletion.
    var id = UUID().uuidString
    var account: String
    var conversation: String
    var text: String
    /// The path of a file that belongs to the message.
    var attachment: String?
    /// Whether the server has that file.
    var isAttachmentStored = false
    /// The text that the server has.
    var sentText: String?

    enum Columns {
        static let id = Column(CodingKeys.id)
        static let account = Column(CodingKeys.account)
        static let text = Column(CodingKeys.text)
        static let isAttachmentStored = Column(CodingKeys.isAttachmentStored)
        static let sentText = Column(CodingKeys.sentText)
    }
}
#endif
