#if PostgreSQL
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import SluicePostgres

/// Brokers whose connections a pooler shares, which keeps no state of a session for them.
@Suite(
    "Behind PgBouncer in transaction mode",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresPoolerTests {
    private static let server: TestServer? = try? TestServer(["--pooler", "fsync=off"])

    @Test(
        "G2, G3, G11: each queue runs in order, and no slower than by polling",
        .enabled(if: TestServer.isToRun && server != nil, "this machine has no PgBouncer"),
        arguments: [false, true]
    )
    func pooled(listens: Bool) async throws {
        let server = try #require(Self.server)
        var own = PostgresOptions()
        own.schema = "pooled_\(listens)"
        (own.pollInterval, own.listens) = (.milliseconds(20), listens)
        let url = server.url.replacing(server.folder, with: server.folder + "/pooler")
        let brokers = [
            try await Broker(postgres: url, server: own), try await Broker(postgres: url, server: own),
        ]
        let log = EventLog<[String]>()
        for broker in brokers {
            try broker.route("*", Note.self) { note, attempt in
                log.append(["\(attempt.queue)", note.text])
                return .success
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for broker in brokers { group.addTask { try await broker.run() } }
            for queue in 0..<20 {
                group.addTask {
                    for number in 0..<10 {
                        try await brokers[number % 2].enqueue(Note("\(number)", in: "queue \(queue)"))
                    }
                }
            }
            _ = try await log.wait(forCount: 200)
            // The broker has no connection to the server of its own.
            let rows = try await brokers[0].serverEngine.calls.call(
                "SELECT count(*) AS count FROM pg_stat_activity WHERE backend_type = 'client backend'"
            )
            #expect((1...3).contains(rows.first?.integer("count") ?? 0))
            for broker in brokers { await broker.stop() }
            try await group.waitForAll()
        }
        for (queue, runs) in Dictionary(grouping: log.elements, by: { $0[0] }) {
            #expect(runs.map { $0[1] } == (0..<10).map(String.init), "\(queue)")
        }
        for broker in brokers { await broker.close() }
    }
}
#endif
