#if GRDB
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
        END
        """

    /// Stores a message and what is to be done for it, both or neither.
    func send(_ text: String, to conversation: String) async throws -> Message {
        try await pool.write { [broker] db in
            let message = try Message(conversation: conversation, text: text).insertAndFetch(db)
            let send = SendMessage(message: db.lastInsertedRowID, conversation: conversation)
            try broker.enqueue(send, in: db)
            return message
        }
    }

    /// Deletes a message, sent or not; returns whether there was one.
    func retract(_ id: Int64) async throws -> Bool {
        try await pool.write { try Message.deleteOne($0, id: id) }
    }

    /// Sends what waits, and returns when nothing is left.
    func run(told: @escaping @Sendable (Message) -> Void) async throws {
        let server = PretendedServer()
        let retries = ExponentialRetry(first: .milliseconds(20), limit: .seconds(1))
        let options = RouteOptions(retry: retries, gates: ["network", "server"])
        try broker.route("conversation/*", SendMessage.self, options) { [pool] send, attempt in
            // Without its message the action is cancelled: see the trigger.
            let message = try await pool.read { try Message.find($0, id: send.message) }
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
        // Once: a closing then also outlasts a restart.
        let isKnown = try await broker.gates().contains { $0.name == "server" }
        if !isKnown { try await broker.openGate("server", isKept: true) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await broker.run() }
            group.addTask { try await broker.keepGate("network", every: .seconds(1)) { server.isReachable } }
            group.addTask {
                // Not until idle: a broker is idle while all that is left waits for the network.
                for try await _ in broker.observe(statuses: "conversation/*") {
                    if try await broker.statuses().allSatisfy({ $0.state == .parked }) { return }
                }
            }
            // Nothing is left, or a call has failed.
            try await group.next()
            group.cancelAll()
        }
    }

    /// Shows all messages, each with what is to be done for it, and then each change, if it follows.
    func list(follow: Bool, show: (String, Message) -> Void) async throws {
        var shown: [Int64?: String] = [:]
        // It says when to read; messages and actions are then of one moment.
        for try await _ in broker.observe(actions: .matching("conversation/*")) {
            let all = try await pool.read { db in
                try Row.fetchAll(db, sql: Self.listing).map { (try Message(row: $0), $0["word"] as String) }
            }
            for (message, word) in all where shown.updateValue(word, forKey: message.id) != word {
                show(word, message)
            }
            if !follow { return }
        }
    }

    private static let listing = """
        SELECT message.*, CASE
            WHEN sentAt IS NOT NULL THEN 'sent'
            WHEN a.id IS NULL THEN 'not to be sent'
            WHEN a.running_since IS NULL THEN coalesce('again at ' || a.next_attempt_at, 'sending')
            ELSE 'sending' END AS word
        FROM message LEFT JOIN sluice_actions AS a ON a.tag = 'message-' || message.id ORDER BY message.id
        """
}

/// Stands for a server on a bad network: it is slow, often out of reach, and sometimes busy.
struct PretendedServer: Sendable {
    struct Unreachable: Error {}

    /// Out of reach for a quarter of each two seconds; a real probe asks the server.
    var isReachable: Bool { Date().timeIntervalSince1970.truncatingRemainder(dividingBy: 2) > 0.5 }

    /// - Returns: The header `Retry-After` of a server that is busy; `nil`: it has the message.
    func receive(_ text: String, key: String) async throws -> String? {
        try await Task.sleep(for: .milliseconds(.random(in: 2...20)))
        guard isReachable, Int.random(in: 1...10) > 3 else { throw Unreachable() }
        return Int.random(in: 1...100) == 1 ? "1" : nil
    }
}
#endif
