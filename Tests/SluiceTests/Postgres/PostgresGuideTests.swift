#if PostgreSQL
import Foundation
import Sluice
import TestSupport
import Testing

@testable import SluicePostgres

// The code of <Sources/SluicePostgres/SluicePostgres.docc/SluicePostgres.md>.
private enum GuideCode {
    struct SendMessage: Action {
        static let kind = "send-message"
        var conversation: String
        var text: String
        var queue: QueueName { "conversation/\(conversation)" }
    }

    struct ChatServer: Sendable {
        func send(_ text: String, key: String) async throws -> Int { text.count + key.count }
    }

    struct ChatDatabase: Sendable {
        let connect: @Sendable () -> OpaquePointer

        func transaction(_ body: (OpaquePointer) throws -> Void) throws { try body(connect()) }
        func mark(_ message: SendMessage, sentAs number: Int, on connection: OpaquePointer) throws {}
    }

    static func open() async throws -> any ActionBroker {
        // Before: let broker = try await Broker(file: path)
        let broker = try await PostgresBroker("postgres://sluice@db.example/app")
        return broker
    }

    static func openWithName() async throws -> any ActionBroker {
        var server = PostgresOptions()
        server.schema = "outbox"
        server.workerName = "mailer-1"
        let broker = try await PostgresBroker("postgres://sluice@db.example/app", server: server)
        return broker
    }

    static func optionsForPooler() -> PostgresOptions {
        var server = PostgresOptions()
        server.listens = false  // idle workers poll
        server.listeningURL = "postgres://sluice@db-direct.example/app"  // or: listen past the pooler
        return server
    }

    static func enqueue(_ broker: PostgresBroker, _ connection: OpaquePointer) throws {
        try broker.enqueue(SendMessage(conversation: "42", text: "Hello?"), in: connection)
    }

    static func settle(
        _ broker: PostgresBroker,
        _ chat: ChatServer,
        _ database: ChatDatabase
    ) throws {
        try broker.route("conversation/*", SendMessage.self) { message, attempt in
            let number = try await chat.send(message.text, key: attempt.idempotencyKey)
            try database.transaction { connection in  // a PGconn pointer, between BEGIN and COMMIT
                try database.mark(message, sentAs: number, on: connection)
                try attempt.succeed(in: connection)
            }
            return .success
        }
    }
}

@Suite("Guide: queues on PostgreSQL", .timeLimit(.minutes(2)))
struct PostgresGuideTests {
    /// The text of a file, its lines without indentation and with single spaces.
    private static func text(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).appending(path: "../../../..").standardized
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.split(separator: " ").joined(separator: " ") }
            .joined(separator: "\n")
    }

    private static func guide() throws -> String {
        try text("Sources/SluicePostgres/SluicePostgres.docc/SluicePostgres.md")
    }

    private static func blocks(_ language: String) throws -> [String] {
        try guide().components(separatedBy: "```\(language)\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
    }

    @Test("The code of the guide is the one that is compiled here")
    func isCompiled() throws {
        let code = try Self.text("Tests/SluiceTests/Postgres/PostgresGuideTests.swift")
        let blocks = try Self.blocks("swift")
        #expect(blocks.count == 5)
        for block in blocks { #expect(code.contains(block), "\(block)") }
    }

    @Test("The guide counts the promises that are passed over")
    func passedOver() throws {
        let count = BrokerPromise.allCases.count
        let kept = count - PostgresConformanceTests.passedOver.count
        let sentence = "Of the \(count) promises of the suite that checks every broker, \(kept) hold here."
        #expect(try Self.guide().contains(sentence))
    }

    @Test("The server executes all SQL of the guide", .enabled(if: TestServer.isToRun, "run alone"))
    func statements() async throws {
        guard let server = TestServer.shared else { return }
        // Names of its own: roles are the whole server's.
        let name = "guide_\(UInt64.random(in: 0 ... .max))"
        func script(_ block: String) -> String {
            block.replacing("sluice.sluice_", with: "\(name).sluice_")
                .replacing("SCHEMA sluice ", with: "SCHEMA \(name) ")
                .replacing("AUTHORIZATION sluice;", with: "AUTHORIZATION \(name);")
                .replacing("ROLE sluice ", with: "ROLE \(name) ")
                .replacing(/\b(app|ops|reader)\b/) { "\(name)_\($0.output.1)" }
        }
        let connection = PostgresConnection(PostgresAddress(url: server.url, schema: name))
        let blocks = try Self.blocks("sql")
        #expect(blocks.count == 7)
        try await connection.execute(script: script(blocks[0]))
        var options = PostgresOptions()
        options.schema = name
        let owner = server.url.replacing("user=postgres", with: "user=\(name)")
        let broker = try await PostgresBroker(owner, server: options)
        for block in blocks.dropFirst() { try await connection.execute(script: script(block)) }
        #expect(try await broker.actionCount() == 1)
        await connection.close()
        await broker.close()
    }
}
#endif
