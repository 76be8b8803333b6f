#if CommandLineTool && GRDB
import Foundation
import GRDB
import Sluice
import SluiceGRDB
import SluiceObservation

/// The application's database, and the broker that works in it.
struct Outbox: Sendable {
    let pool: DatabasePool
    let broker: Broker

    init(_ path: String) async throws {
        var configuration = Configuration()
        configuration.prepareForSluice()
        pool = try DatabasePool(path: path, configuration: configuration)
        var migrator = DatabaseMigrator()
        migrator.registerSluiceMigrations()
        migrator.registerMigration("messages") { try $0.execute(sql: Self.schema) }
        try migrator.migrate(pool)
        broker = try await Broker(sharing: pool)
    }

    /// With a message goes what was to be done for it.
    private static let schema = """
        CREATE TABLE message (
            id INTEGER PRIMARY KEY AUTOINCREMENT, conversation TEXT NOT NULL, text TEXT NOT NULL,
            sentAt DATETIME, timesSent INTEGER NOT NULL
        );
        CREATE TRIGGER messageDeleted AFTER DELETE ON message BEGIN
            DELETE FROM sluice_actions WHERE tag = 'message-' || OLD.id;
            DELETE FROM sluice_dead WHERE tag = 'message-' || OLD.id;
        END
        """
}

extension Outbox {
    /// Stores a message and what is to be done for it, both or neither.
    func send(_ text: String, to conversation: String) async throws -> Message {
        try await pool.write { [broker] db in
            var message = Message(conversation: conversation, text: text)
            try message.insert(db)
            message.id = db.lastInsertedRowID
            let send = SendMessage(message: db.lastInsertedRowID, conversation: conversation)
            // By its tag the action goes with the message: see the trigger.
            try broker.enqueue(send, EnqueueOptions(tag: "message-\(send.message)"), in: db)
            return message
        }
    }

    /// Sends what waits, and returns when nothing is left.
    func run(to server: PretendedServer, told: @escaping @Sendable (Message) -> Void) async throws {
        let retries = ExponentialRetry(first: .milliseconds(20), limit: .seconds(1))
        let options = RouteOptions(retry: retries, gates: ["network", "server"])
        try broker.route("conversation/*", SendMessage.self, options) { [pool] send, attempt in
            guard let message = try await pool.read({ try Message.fetchOne($0, id: send.message) }) else {
                return .fail("there is no such message")
            }
            // The key is the same at each attempt: the server recognises what it has already.
            if let header = try await server.receive(message.text, key: attempt.idempotencyKey) {
                // Nobody's fault: no attempt is spent, and all conversations wait.
                return .release(after: RetryAfter.parse(header) ?? .seconds(5), closing: "server")
            }
            // The mark and the end of the action are one commit.
            let outcome = try await attempt.success(in: pool) { db in
                let mark = "UPDATE message SET sentAt = ?, timesSent = timesSent + 1 WHERE id = ?"
                try db.execute(sql: mark, arguments: [Date(), send.message])
            }
            told(message)
            return outcome
        }
        for gate: GateName in ["network", "server"] { try await broker.openGate(gate) }
        async let running: Void = broker.run()
        // Until the end of this call.
        async let _: Void = broker.keepGate("network", every: .seconds(5)) { await server.isReachable }
        await broker.waitUntilIdle()
        await broker.stop()
        try await running
    }

    /// Shows all messages, each with its state, and then each change, if it follows.
    func list(follow: Bool, show: (String, Message) -> Void) async throws {
        for try await update in broker.observe(actions: .matching("conversation/*")) {
            var states: [Int64?: ActionState] = [:]
            for state in update.states + update.gone {
                if let send = try state.payload(as: SendMessage.self) { states[send.message] = state }
            }
            let (isAll, ids) = (update.isSnapshot, Array(states.keys))
            let messages = try await pool.read { db in
                try (isAll ? Message.all() : Message.filter(ids: ids)).orderByPrimaryKey().fetchAll(db)
            }
            for message in messages { show(message.word(states[message.id]), message) }
            if !follow { return }
        }
    }
}
#endif
