#if GRDB
import Foundation
import GRDB
import Sluice
import SluiceGRDB
import SluiceTestKit
import TestSupport
import Testing

/// The guide "Coming from a table of your own".
@Suite("Guide: coming from a table of your own", .watched(minutes: 1)) struct OwnTableTests {
    /// Remembers what it has got.
    private final class FakeServer: Sendable {
        let log = EventLog<String>()

        func send(_ text: String, key: String) async throws { log.append("\(key): \(text)") }
    }

    private static var root: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    /// The blocks of the guide in a language.
    private static func blocks(_ language: String) throws -> [String] {
        let path = "Sources/Sluice/Sluice.docc/ComingFromYourOwnTable.md"
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
            .components(separatedBy: "```\(language)\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
    }

    @Test("The Swift code of the guide is the one that is compiled here") func isCompiled() throws {
        /// A text, its lines without indentation.
        func plain(_ text: String) -> String {
            text.split(separator: "\n", omittingEmptySubsequences: false)
                .map { String($0.drop { $0 == " " }) }
                .joined(separator: "\n")
        }
        let code = plain(try String(contentsOf: URL(fileURLWithPath: #filePath), encoding: .utf8))
        let blocks = try Self.blocks("swift")
        #expect(blocks.count == 1)
        for block in blocks { #expect(code.contains(plain(block)), "\(block)") }
    }

    @Test("The guide's SQL moves what was not sent, in order, and a broker sends it")
    func moves() async throws {
        let file = try TemporaryFile()
        let server = FakeServer()
        let statements = try Self.blocks("sql")
        try #require(statements.count == 2)
        let (createOutbox, moveOutbox) = (statements[0], statements[1])
        var configuration = Configuration()
        configuration.prepareForSluice()
        let pool = try DatabasePool(path: file.path, configuration: configuration)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("outbox") { db in try db.execute(sql: createOutbox) }
        try migrator.migrate(pool)
        // Not in the order of their numbers.
        try await pool.write { db in
            try db.execute(
                sql: """
                    INSERT INTO outbox (id, conversation, body, status, attempts, next_try) VALUES
                        (4, 'b', 'four of b', 'pending', 3, 4e9),
                        (3, 'a', '"three" of a', 'pending', 0, NULL),
                        (1, 'a', 'one of a', 'sending', 1, NULL), (2, 'b', 'two', 'failed', 9, NULL),
                        (5, 'a', 'five', 'sent', 1, NULL), (6, 'b', 'six of b', 'pending', 0, NULL)
                    """
            )
        }
        migrator.registerSluiceMigrations()
        migrator.registerMigration("outbox to Sluice") { db in try db.execute(sql: moveOutbox) }
        try migrator.migrate(pool)

        struct SendMessage: Action {
            static let kind = "send-message"
            var message: Int64
            var conversation: String
            var text: String
            var queue: QueueName { "conversation/\(conversation)" }
        }
        let broker = try await Broker(sharing: pool)
        try broker.route("conversation/*", SendMessage.self) { send, attempt in
            try await server.send(send.text, key: "message-\(send.message)")
            return .success
        }
        let tags = try await pool.read { try String.fetchAll($0, sql: "SELECT tag FROM sluice_actions") }
        #expect(Set(tags) == ["message-1", "message-3", "message-4", "message-6"])
        try await running(broker) { await broker.waitUntilIdle() }
        // Two conversations may be sent at the same time.
        let sent = server.log.elements
        let (a, b) = (sent.filter { $0.hasSuffix(" of a") }, sent.filter { $0.hasSuffix(" of b") })
        #expect(a == ["message-1: one of a", "message-3: \"three\" of a"])
        #expect(b == ["message-4: four of b", "message-6: six of b"])
        #expect(sent.count == 4)
        let left = try await pool.read { try Int64.fetchAll($0, sql: "SELECT id FROM outbox ORDER BY id") }
        #expect(left == [2, 5])
        await broker.close()
        withExtendedLifetime(file) {}
    }
}
#endif
