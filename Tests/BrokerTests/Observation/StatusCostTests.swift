import CSluiceSQLite
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The cost of a look at all queues", .watched) struct StatusCostTests {
    /// The steps of SQLite's machine for a look at some queues that no broker has run.
    private func steps(queues: Int) async throws -> Int {
        let fixture = try await StoreFixture(
            isRunning: false,
            adjust: { $0.file.writeBehind.newest = 1_000_000 }
        )
        try await fixture.store.add((0..<queues).map { ActionDraft("\($0)", in: QueueName("q/\($0)")) })
        func counted(resetting: Bool) async throws -> Int {
            try await fixture.store.read { connection in
                var (sum, statement) = (0, sqlite3_next_stmt(connection.rawHandle, nil))
                while let current = statement {
                    sum += Int(sqlite3_stmt_status(current, SQLITE_STMTSTATUS_VM_STEP, resetting ? 1 : 0))
                    statement = sqlite3_next_stmt(connection.rawHandle, current)
                }
                return sum
            }
        }
        _ = try await counted(resetting: true)
        let found = EventLog<Int>()
        try await fixture.store.queueFacts(.prefix([]), page: 50) { _, page in
            found.append(page.count)
            return true
        }
        let count = found.elements.reduce(0, +)
        #expect(count == queues)
        let steps = try await counted(resetting: false)
        await fixture.store.close()
        return steps
    }

    @Test("It is linear in the queues, also of a backlog that nobody has run")
    func linear() async throws {
        let (few, many) = (try await steps(queues: 500), try await steps(queues: 2_000))
        #expect(many < few * 5, "\(few) and \(many) steps")
    }

    @Test("Looks keep what they sort in memory: a full disk has no room for temporary files")
    func temporary() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        let place = try await fixture.store.read { try $0.pragma("temp_store") }
        #expect(place == "2")
        await fixture.store.close()
    }
}
