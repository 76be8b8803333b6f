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
        var conversation, text: String
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
        let broker = try await PostgresBroker("postgres://app@db.example/app")  // before: Broker(file: path)
        return broker
    }

    static func openWithName() async throws -> any ActionBroker {
        var server = PostgresOptions()
        server.schema = "outbox"
        server.workerName = "mailer-1"
        let broker = try await PostgresBroker("postgres://app@db.example/app", server: server)
        return broker
    }

    static func optionsForPooler() -> PostgresOptions {
        var server = PostgresOptions()
        server.listens = false  // idle workers poll
        server.listeningURL = "postgres://app@db-direct.example/app"  // or: listen past the pooler
        return server
    }

    static func settle(
        _ broker: PostgresBroker,
        _ server: ChatServer,
        _ database: ChatDatabase
    ) throws {
        try broker.route("conversation/*", SendMessage.self) { message, attempt in
            let number = try await server.send(message.text, key: attempt.idempotencyKey)
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
        #expect(blocks.count == 4)
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
        var options = PostgresOptions()
        options.schema = "guide_\(UInt64.random(in: 0 ... .max))"
        let broker = try await PostgresBroker(server.url, server: options)
        let connection = PostgresConnection(PostgresAddress(url: server.url, schema: options.schema))
        for role in ["app", "reader", "ops"] {
            // Another run on the same server may have made it.
            try await connection.execute(
                script: """
                    DO $$ BEGIN CREATE ROLE \(role);
                    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$
                    """
            )
        }
        let blocks = try Self.blocks("sql")
        #expect(blocks.count == 6)
        for block in blocks {
            let script = block.replacing("sluice.sluice_", with: "\(options.schema).sluice_")
                .replacing("SCHEMA sluice ", with: "SCHEMA \(options.schema) ")
            try await connection.execute(script: script)
        }
        #expect(try await broker.actionCount() == 1)
        await connection.close()
        await broker.close()
    }
}
#endif
