import SQLite
import SluiceTestKit
import Testing

@testable import Sluice

@Suite("The order in memory, when it is read first") struct WaitingOrderLoadTests {
    @Test("G3: it is read before the write lock is taken, and what others commit meanwhile counts")
    func beforeTheLock() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        try await fixture.store.add("first")
        try await fixture.store.add("second")
        let connection = try fixture.connect()
        connection.setBusyTimeout(.zero)
        let transaction = WriteTransaction(
            connection: connection,
            nonce: 1,
            identity: .current,
            leases: LeaseTimes(),
            clock: fixture.clock,
            writeBehind: WriteBehindLimits()
        )
        try transaction.begin()
        try transaction.startRunning()
        try transaction.commit()
        #expect(!transaction.order.isLoaded)

        let other = try fixture.connect()
        try other.beginImmediate()
        try other.execute("UPDATE sluice_actions SET queue = 'elsewhere' WHERE id = 1")
        try other.execute("INSERT INTO sluice_actions (queue, kind, payload) VALUES ('new', 'test', '3')")
        let error = try #require(throws: SQLiteError.self) { try transaction.begin() }
        #expect(error.code.primary == .busy)
        #expect(transaction.order.isLoaded)
        #expect(!connection.isInTransaction)
        try other.commit()

        try transaction.begin()
        defer { transaction.rollback() }
        // What has left its queue still has a place there: whoever claims looks at the row.
        let queues = try other.cached("SELECT queue_id FROM sluice_queue_rows WHERE name <> 'q' ORDER BY name")
            .all { QueueID(rawValue: $0.int64(0)) }
        let heads = try queues.map { try transaction.order.head(of: $0)?.action.rawValue }
        #expect(heads == [1, 3], "of the queues 'elsewhere' and 'new'")
    }
}
