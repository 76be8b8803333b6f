#if CommandLineTool && GRDB
import Foundation
import GRDB
import Sluice
import SluiceGRDB

/// The application's database, and the broker that works in it.
struct Outbox: Sendable {
    let pool: DatabasePool
    let broker: Broker

    init(_ path: String) async throws {
        var configuration = Configuration()
        configuration.prepareForSluice()
        pool = try DatabasePool(path: path, configuration: configuration)
        try Self.migrator.migrate(pool)
        broker = try await Broker(sharing: pool)
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerSluiceMigrations()
        migrator.registerMigration("messages") { db in
            try db.create(table: "message") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("conversation", .text).notNull()
                table.column("text", .text).notNull()
                table.column("sentAt", .datetime)
                table.column("timesSent", .integer).notNull()
            }
            // What was to be done for a message goes with it.
            try db.execute(
                sql: """
                    CREATE TRIGGER messageDeleted AFTER DELETE ON message BEGIN
                        DELETE FROM sluice_actions WHERE tag = 'message-' || OLD.id;
                        DELETE FROM sluice_dead WHERE tag = 'message-' || OLD.id;
                    END
                    """
            )
        }
        return migrator
    }
}

extension Outbox {
    /// Stores a message and what is to be done for it, both or neither.
    func send(_ text: String, to conversation: String) async throws -> Message {
        try await pool.write { [broker] db in
            var message = Message(conversation: conversation, text: text)
            try message.insert(db)
            let send = SendMessage(message: db.lastInsertedRowID, conversation: conversation)
            // By its tag the action goes with the message: see `retract`.
            try broker.enqueue(send, EnqueueOptions(tag: "message-\(send.message)"), in: db)
            return message
        }
    }

    /// Deletes a message; what was to be done for it goes along.
    func retract(_ id: Int64) async throws -> Bool {
        try await pool.write { db in try Message.deleteOne(db, id: id) }
    }

    /// Sends what waits, and returns when nothing is left.
    func run(to server: PretendedServer, told: @escaping @Sendable (Message) -> Void) async throws {
        let retries = RouteOptions(retry: .exponential(first: .milliseconds(20), limit: .seconds(1)))
        try broker.route("conversation/*", SendMessage.self, retries) { [pool] send, attempt in
            guard let message = try await pool.read({ try Message.fetchOne($0, id: send.message) }) else {
                return .fail("there is no such message")
            }
            // The key is the same at each attempt: the server recognises what it has already.
            try await server.receive(message.text, key: attempt.idempotencyKey)
            // The mark and the end of the action are one commit.
            let outcome = try await attempt.success(in: pool) { db in
                try Message.filter(id: send.message).updateAll(db) {
                    [$0.sentAt.set(to: Date()), $0.timesSent.set(to: $0.timesSent + 1)]
                }
            }
            told(message)
            return outcome
        }
        async let running: Void = broker.run()
        await broker.waitUntilIdle()
        await broker.stop()
        try await running
    }

    /// All messages, each with what it waits for.
    func list() async throws -> [(message: Message, state: String)] {
        try await pool.read { db in
            let queues = try Dictionary(uniqueKeysWithValues: QueueRecord.fetchAll(db).map { ($0.queue, $0) })
            return try Message.orderByPrimaryKey().fetchAll(db).map { message in
                let because = queues[message.queue]?.because ?? "not to be sent"
                return (message, message.sentAt == nil ? because : "sent")
            }
        }
    }
}
#endif
