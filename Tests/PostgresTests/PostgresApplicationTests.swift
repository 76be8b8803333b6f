#if PostgreSQL
import CSluicePostgres
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import SluicePostgres

@testable import EngineSupport

/// Transactions of an application on its own connection.
@Suite(
    "Transactions of an application, on PostgreSQL",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresApplicationTests {
    private let site: PostgresSite
    private let connection: OpaquePointer

    init() throws {
        site = PostgresSite(try #require(TestServer.shared))
        connection = try #require(PQconnectdb(site.server.url))
        execute("SELECT set_config('sluice.test_now', '\(site.clock.wallMicroseconds)', false)")
    }

    private func execute(_ sql: String) { PQclear(PQexec(connection, sql)) }

    @Test("G1: an action is stored with the application's transaction, or not at all with it")
    func enqueue() async throws {
        defer { PQfinish(connection) }
        let broker = try await site.broker()
        let error = #expect(throws: SluiceError.self) { try broker.enqueue(Note("a"), in: connection) }
        #expect(error?.code == .noTransaction)
        execute("BEGIN")
        try broker.enqueue(Note("rolled back"), in: connection)
        execute("ROLLBACK")
        execute("BEGIN")
        let receipt = try broker.enqueue(Note("b"), EnqueueOptions(tag: "t"), in: connection)
        let ids = try broker.enqueue((0..<3).map { Note("\($0)", in: "others") }, in: connection)
        try await #expect(broker.actionCount() == 0)
        execute("COMMIT")
        let stored = try await broker.actionSummaries()
        #expect(stored.map(\.id) == [receipt.id] + ids)
        try await #expect(broker.actions(tag: "t").map(\.id) == [receipt.id])
        await broker.close()
    }

    @Test("A refused enqueue leaves the application's transaction usable")
    func refusal() async throws {
        defer { PQfinish(connection) }
        let broker = try await site.broker()
        try broker.configure("full", QueueOptions(maximumDepth: 1))
        execute("BEGIN")
        try broker.enqueue(Note("a", in: "full"), in: connection)
        let error = #expect(throws: SluiceError.self) {
            try broker.enqueue(Note("b", in: "full"), in: connection)
        }
        #expect(error?.code == .queueFull)
        let groups = #expect(throws: SluiceError.self) {
            try broker.enqueue(Note("c"), EnqueueOptions(memberOf: ["g"]), in: connection)
        }
        #expect(groups?.code == .unsupported)
        try broker.enqueue(Note("d"), in: connection)
        execute("COMMIT")
        try await #expect(broker.actionSummaries().map(\.queue) == ["full", "notes"])
        await broker.close()
    }
}
#endif
