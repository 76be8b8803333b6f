import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The order in memory, when it is read first", .watched) struct WaitingOrderLoadTests {
    @Test("G3: it is read before the write lock is taken, and what others commit meanwhile counts")
    func beforeTheLock() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        try await fixture.store.add("first")
        try await fixture.store.add("second")
        let connection = try fixture.connect()
        connection.setBusyTimeout(.zero)
        let core = TransactionCore(
            connection: connection,
            nonce: 1,
            identity: .current,
            leases: LeaseTimes(),
            clock: fixture.clock,
            writeBehind: WriteBehindLimits()
        )
        let transaction = WriteTransaction(core)
        try transaction.begin()
        try transaction.registry.startRunning()
        try transaction.commit()
        #expect(!core.order.isLoaded)

        let other = try fixture.connect()
        try other.beginImmediate()
        try other.execute("UPDATE sluice_actions SET queue = 'elsewhere' WHERE id = 1")
        try other.execute("INSERT INTO sluice_actions (queue, kind, payload) VALUES ('new', 'test', '3')")
        let error = try #require(throws: SQLiteError.self) { try transaction.begin() }
        #expect(error.code.primary == .busy)
        #expect(core.order.isLoaded)
        #expect(!connection.isInTransaction)
        try other.commit()

        try transaction.begin()
        defer { transaction.rollback() }
        // What has left its queue still has a place there: whoever claims looks at the row.
        let queues = try other.cached(
            "SELECT queue_id FROM sluice_queue_rows WHERE name <> 'q' ORDER BY name"
        )
        .all { QueueID(rawValue: $0.int64(0)) }
        let heads = try queues.map { try core.order.head(of: $0)?.action.rawValue }
        #expect(heads == [1, 3], "of the queues 'elsewhere' and 'new'")
    }

    @Test("G14: where a damage keeps it from being read, actions are enqueued as before")
    func damaged() async throws {
        let adjust: (inout BrokerOptions) -> Void = { $0.file.writeBehind.newest = 1_000 }
        let first = try await StoreFixture(isRunning: false, adjust: adjust)
        let text = String(repeating: "x", count: 500)
        try await first.store.add((0..<100).map { _ in ActionDraft(text) })
        let root = try #require(
            Int(try first.row("SELECT rootpage FROM sqlite_schema WHERE name = 'sluice_action_rows'"))
        )
        await first.store.close()
        try damageFirstLeaf(below: root, of: first.file.path)

        let fixture = try await StoreFixture(file: first.file, clock: first.clock, adjust: adjust)
        let error = await #expect(throws: SluiceError.self) {
            try await fixture.store.queuesWithWork(.newest(thenLimit: 10))
        }
        #expect(error?.code == .corrupt)
        #expect(try await fixture.store.add("more") == ActionID(rawValue: 101))
    }

    /// By <https://www.sqlite.org/fileformat2.html#b_tree_pages>.
    private func damageFirstLeaf(below root: Int, of path: String) throws {
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        func number(_ place: Int, bytes count: Int) -> Int {
            bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) }
        }
        let pageSize = number(16, bytes: 2)
        let page = (root - 1) * pageSize
        try #require(bytes[page] == 5, "an interior page")
        let leaf = number(page + number(page + 12, bytes: 2), bytes: 4)
        try #require(bytes[(leaf - 1) * pageSize] == 13)
        bytes[(leaf - 1) * pageSize] = 0
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }
}
