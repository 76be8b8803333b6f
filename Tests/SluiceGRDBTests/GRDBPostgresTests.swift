#if GRDB && PostgreSQL
import GRDB
import Sluice
import SluiceGRDB
import SluiceTestKit
import TestSupport
import Testing

/// A connection of SQLite must not be taken for one of libpq.
@Suite(
    "A database of GRDB beside a broker on a server",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct GRDBPostgresTests {
    @Test("G14: enqueues and settlements in it are refused, and name what they need")
    func refused() async throws {
        guard let server = TestServer.shared else { return }
        let broker = try await PostgresSite(server).broker()
        let database = try DatabaseQueue()
        let refusals = EventLog<SluiceError>()
        try broker.route("*", Note.self) { _, attempt in
            try await database.write { db in
                do throws(SluiceError) { try attempt.succeed(in: db) } catch { refusals.append(error) }
            }
            return .success
        }
        for text in ["one", "several"] {
            try await database.write { db in
                do {
                    if text == "one" {
                        try broker.enqueue(Note(text), in: db)
                    } else {
                        try broker.enqueue([Note(text)], in: db)
                    }
                } catch let error as SluiceError { refusals.append(error) }
            }
        }
        let run = Task { try await broker.run() }
        let receipt = try await broker.enqueue(Note("settled"))
        #expect(try await receipt.settled() == .succeeded)
        #expect(refusals.elements.map(\.code) == [.unsupported, .unsupported, .unsupported])
        #expect(refusals.elements.allSatisfy { $0.message.contains("needs a broker on a file") })
        await broker.close()
        try await run.value
    }
}
#endif
