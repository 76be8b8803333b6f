#if GRDB
import GRDB
import Sluice
import SluiceGRDB
import SluiceTestKit
import Testing

// The code of <Sources/SluiceTestKit/SluiceTestKit.docc/TestingYourHandlers.md> that needs GRDB.

func addRoutes(to broker: Broker, server: any ChatServer, pool: DatabasePool) throws {
    try broker.route("conversation/*", SendMessage.self) { message, attempt in
        try await server.send(message.text, to: message.conversation, key: attempt.idempotencyKey)
        return try await attempt.success(in: pool) { db in
            try db.execute(sql: "INSERT INTO sent (text) VALUES (?)", arguments: [message.text])
        }
    }
}

@Test("A message that is sent is in the application's table, over a restart too")
func marked() async throws {
    let file = try TemporaryFile()
    var configuration = Configuration()
    configuration.prepareForSluice()
    let pool = try DatabasePool(path: file.path, configuration: configuration)
    try await pool.write { try $0.execute(sql: "CREATE TABLE sent (text TEXT NOT NULL)") }
    let server = RecordingServer()
    let test = try await TestBroker(file) { try addRoutes(to: $0, server: server, pool: pool) }

    let message = try await test.broker.enqueue(SendMessage(conversation: "1", text: "hello"))
    try await test.restart()
    #expect(try await test.settled(message.id) == .succeeded)
    #expect(try await pool.read { try String.fetchAll($0, sql: "SELECT text FROM sent") } == ["hello"])
    try await test.close()
}
#endif
