#if CommandLineTool && GRDB
import GRDB
import Sluice
import SluiceGRDB

/// The application's database, and the broker that works in it.
struct Outbox: Sendable {
    /// How many rooms send at a time.
    static let concurrency = 8
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
        var options = BrokerOptions()
        options.concurrency = Self.concurrency
        broker = try await Broker(sharing: pool, options: options)
    }

    /// With a message goes what was to be done for it; the account's gate follows its token.
    private static let schema = """
        CREATE TABLE account (
            user TEXT PRIMARY KEY, server TEXT NOT NULL, device TEXT NOT NULL, token TEXT
        );
        CREATE TABLE message (
            id INTEGER PRIMARY KEY AUTOINCREMENT, room TEXT NOT NULL, text TEXT NOT NULL, file TEXT,
            fileURI TEXT, isOnItsWay BOOLEAN NOT NULL, eventID TEXT, refusal TEXT
        );
        CREATE TRIGGER messageDeleted AFTER DELETE ON message BEGIN
            DELETE FROM sluice_actions WHERE tag = 'message-' || OLD.id;
            DELETE FROM sluice_dead WHERE tag = 'message-' || OLD.id;
        END;
        CREATE TRIGGER accountAdded AFTER INSERT ON account BEGIN
            INSERT INTO sluice_gates (gate) VALUES ('account:' || NEW.user);
        END;
        CREATE TRIGGER tokenChanged AFTER UPDATE OF token ON account BEGIN
            INSERT INTO sluice_gates (gate, state)
            VALUES ('account:' || NEW.user, iif(NEW.token IS NULL, 'closed', 'open'));
        END
        """
}

/// What the user does. Each of these works beside a process that sends.
extension Outbox {
    /// Logs in, and stores the account; returns the user's full name.
    func logIn(_ server: String, _ user: String, password: String, device: String) async throws -> String {
        let client = MatrixClient(server, timeout: 30)
        let answer = try await client.logIn(user, password: password, device: device)
        guard let token = answer.fields.token, let name = answer.fields.user else {
            throw Failure(description: answer.reason)
        }
        try await pool.write { db in
            try Account(user: name, server: server, device: device, token: token).save(db)
        }
        return name
    }

    /// Stores a message and what is to be done for it, both or neither.
    func send(_ text: String, to room: String, file: String? = nil) async throws -> Message {
        try await pool.write { [broker] db in
            let message = try Message(room: room, text: text, file: file).insertAndFetch(db)
            let id = db.lastInsertedRowID
            // One queue: the message waits for the upload, which writes down what the message refers to.
            if file != nil { try broker.enqueue(UploadFile(message: id, room: room), in: db) }
            try broker.enqueue(SendMessage(message: id, room: room), in: db)
            return message
        }
    }

    /// Changes the text of a message; returns whether it was in time.
    func edit(_ id: Int64, to text: String) async throws -> Bool {
        try await change(id, "UPDATE message SET text = ?", [text])
    }

    /// Deletes a message and what was to be done for it; returns whether it was in time.
    func cancel(_ id: Int64) async throws -> Bool { try await change(id, "DELETE FROM message") }

    private func change(_ id: Int64, _ sql: String, _ values: StatementArguments = []) async throws -> Bool {
        try await pool.write { db in
            let condition = "WHERE id = ? AND eventID IS NULL AND NOT isOnItsWay"
            try db.execute(sql: "\(sql) \(condition)", arguments: values + [id])
            return db.changesCount > 0
        }
    }

    /// Puts back what has failed, at its old place, and tries all rooms now, also those that have stopped.
    func retryAll() async throws {
        try await broker.requeueAll("room/*")
        try await broker.retryNow("room/*")
    }

    /// Sends nothing to a room for a time, or until a later call ends it, as while its user is typing.
    func pause(_ room: String, for duration: Duration) async throws {
        let queue = QueuePattern("room/\(room)")
        try await broker.endHolds(matching: queue, by: "typing")
        try await broker.hold(queue, by: "typing", reason: "the user is typing", for: duration)
    }

    func messages() async throws -> [Message] {
        try await pool.read { try Message.fetchAll($0, sql: "SELECT * FROM message ORDER BY id") }
    }
}
#endif
