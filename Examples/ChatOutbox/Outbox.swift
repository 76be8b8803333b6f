#if GRDB
import GRDB
import Logging
import Sluice
import SluiceGRDB

/// The application's database, and the broker that works in it.
struct Outbox: Sendable {
    let pool: DatabasePool
    let broker: Broker
    var logger = Logger(label: "chat.outbox")

    /// Opens both.
    static func open(_ path: String) async throws -> Outbox {
        let pool = try openDatabase(path)
        var options = BrokerOptions()
        // Without a logger the broker warns only of forgotten routes and gates: see *Operating*.
        options.logger = Logger(label: "chat.broker")
        return Outbox(pool: pool, broker: try await Broker(sharing: pool, options: options))
    }

    /// Stores a message and what is to be done for it: both or neither.
    @discardableResult
    func send(
        _ text: String,
        to conversation: String,
        of account: String,
        attachment: String? = nil
    ) async throws -> Message {
        try await pool.write { db in
            let message = Message(
                account: account,
                conversation: conversation,
                text: text,
                attachment: attachment
            )
            try message.insert(db)
            try enqueue(message, in: db)
            return message
        }
    }

    /// Changes the text of a message, also of one that the server has, or has refused.
    ///
    /// - Returns: Whether there is such a message.
    func edit(_ id: String, to text: String) async throws -> Bool {
        try await pool.write { db in
            guard var message = try Message.fetchOne(db, id: id) else { return false }
            message.text = text
            try message.update(db)
            // A refused one is tried again, at the end of its conversation.
            try db.execute(sql: "DELETE FROM sluice_dead WHERE tag = ?", arguments: ["message-\(id)"])
            try enqueue(message, in: db)
            return true
        }
    }

    /// Deletes a message here and at the server; one that waits is never sent.
    ///
    /// - Returns: Whether there was such a message.
    func delete(_ id: String) async throws -> Bool {
        try await pool.write { db in
            guard let message = try Message.fetchOne(db, id: id) else { return false }
            // The trigger deletes its actions. The handler of one that runs is cancelled.
            try message.delete(db)
            let delete = DeleteMessage(
                account: message.account,
                conversation: message.conversation,
                message: id
            )
            // Always: an attempt whose answer was lost may have reached the server.
            try broker.enqueue(delete, in: db)
            return true
        }
    }

    /// The file comes before the message: a queue keeps the order of its actions.
    private func enqueue(_ message: Message, in db: Database) throws {
        if message.attachment != nil && !message.isAttachmentStored {
            let upload = UploadAttachment(
                account: message.account,
                conversation: message.conversation,
                message: message.id
            )
            try broker.enqueue(upload, in: db)
        }
        let send = SendMessage(
            account: message.account,
            conversation: message.conversation,
            message: message.id
        )
        try broker.enqueue(send, in: db)
    }
}
#endif
