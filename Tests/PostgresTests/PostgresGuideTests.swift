#if PostgreSQL
import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import SluicePostgres

@testable import EngineSupport

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

    static func open() async throws -> Broker {
        // Before: let broker = try await Broker(file: path)
        let broker = try await Broker(postgres: "postgres://sluice@db.example/app")
        return broker
    }

    static func openWithName() async throws -> Broker {
        var server = PostgresOptions()
        server.schema = "outbox"
        server.workerName = "mailer-1"
        let broker = try await Broker(postgres: "postgres://sluice@db.example/app", server: server)
        return broker
    }

    static func optionsForPooler() -> PostgresOptions {
        var server = PostgresOptions()
        server.listens = false  // idle workers poll
        server.listeningURL = "postgres://sluice@db-direct.example/app"  // or: listen past the pooler
        return server
    }

    static func enqueue(_ broker: Broker, _ connection: OpaquePointer) throws {
        try broker.enqueue(SendMessage(conversation: "42", text: "Hello?"), in: connection)
    }

    static func settle(
        _ broker: Broker,
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

@Suite("Guide: queues on PostgreSQL", .watched)
struct PostgresGuideTests {
    /// The text of a file, its lines without indentation and with single spaces.
    private static func text(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).appending(path: "../../..").standardized
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
        let code = try Self.text("Tests/PostgresTests/PostgresGuideTests.swift")
        let blocks = try Self.blocks("swift")
        #expect(blocks.count == 7)
        let start = try Self.text("Tests/PostgresTests/PostgresStartExample.swift")
        // In a test, functions have a type around them, and imports are above it.
        func bare(_ text: String) -> String {
            text.replacing("static func", with: "func").replacing(/(?m)^import \w+\n\n?/, with: "")
        }
        for block in blocks { #expect(bare(code + start).contains(bare(block)), "\(block)") }
    }

    @Test(
        "The views of the server have the columns of the file's, in their order",
        .enabled(if: TestServer.isToRun)
    )
    func columns() async throws {
        guard let server = TestServer.shared else { return }
        let site = PostgresSite(server)
        let broker = try await site.broker()
        let connection = PostgresConnection(PostgresAddress(url: server.url, schema: site.schema))
        for table in try SQLReference().tables where table.name != "sluice_migrations" {
            let names = try await connection.call(
                """
                SELECT string_agg(column_name, ' ' ORDER BY ordinal_position) AS names
                FROM information_schema.columns
                WHERE table_schema = $1 AND table_name = $2
                """,
                [site.schema, table.name]
            )
            let isRunners = table.name == "sluice_runners"
            let expected = table.columns.map { isRunners && $0 == "pid" ? "process" : $0 }
            #expect(names[0].text("names") == expected.joined(separator: " "), "\(table.name)")
        }
        await connection.close()
        await broker.close()
    }

    @Test(
        "The start of the guide: its SQL makes a database, its program sends",
        .enabled(if: TestServer.isToRun)
    )
    func start() async throws {
        guard let server = TestServer.shared else { return }
        // Names of its own: databases and roles are the whole server's.
        let name = "start_\(UInt64.random(in: 0 ... .max))"
        let connection = PostgresConnection(PostgresAddress(url: server.url, schema: "public"))
        for statement in try Self.blocks("sql")[0].split(separator: "\n") {
            let sql = statement.replacing("sluice", with: name).replacing(
                "DATABASE app",
                with: "DATABASE \(name)"
            )
            _ = try await connection.call(String(sql))
        }
        await connection.close()
        let url = server.url.replacing("postgres?", with: "\(name)?").replacing(
            "user=postgres",
            with: "user=\(name)"
        )
        let texts = EventLog<String>()
        let running = Task { try await PostgresStart.chat(url) { message, _ in texts.append(message.text) } }
        _ = try await texts.wait(forCount: 1)
        let broker = try await Broker(postgres: url)
        while try await broker.actionCount() > 0 { try Task.checkCancellation() }
        running.cancel()
        try await running.value
        await broker.close()
        #expect(texts.elements == ["Are you there?"])
    }

    @Test("The server executes all SQL of the guide", .enabled(if: TestServer.isToRun, "run alone"))
    func statements() async throws {
        guard let server = TestServer.shared else { return }
        // Names of its own: roles are the whole server's.
        let name = "guide_\(UInt64.random(in: 0 ... .max))"
        func script(_ block: String) -> String {
            block.replacing("sluice.sluice_", with: "\(name).sluice_")
                .replacing(#/SCHEMA (IF NOT EXISTS )?sluice /#) { "SCHEMA \($0.output.1 ?? "")\(name) " }
                .replacing("AUTHORIZATION sluice;", with: "AUTHORIZATION \(name);")
                .replacing("ROLE sluice ", with: "ROLE \(name) ")
                .replacing(/\b(app|ops|reader)\b/) { "\(name)_\($0.output.1)" }
        }
        let connection = PostgresConnection(PostgresAddress(url: server.url, schema: name))
        let blocks = try Self.blocks("sql").dropFirst()
        #expect(blocks.count == 7)
        func execute(_ script: String) async throws {
            try await connection.transaction { transaction throws(PostgresFailure) in
                try transaction.execute(script: script)
            }
        }
        try await execute("CREATE ROLE \(name) LOGIN;" + script(blocks[1]))
        var options = PostgresOptions()
        options.schema = name
        let owner = server.url.replacing("user=postgres", with: "user=\(name)")
        let broker = try await Broker(postgres: owner, server: options)
        for block in blocks.dropFirst() { try await execute(script(block)) }
        #expect(try await broker.actionCount() == 1)
        await connection.close()
        await broker.close()
    }
}
#endif
