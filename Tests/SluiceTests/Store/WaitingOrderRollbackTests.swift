import SQLite
import SluiceTestKit
import Testing

@testable import Sluice

@Suite("The order in memory, when a transaction is rolled back") struct WaitingOrderRollbackTests {
    @Test("G12: what was read in it is forgotten, and not read from the first row on by the next")
    func firstLoad() async throws {
        let fixture = try await StoreFixture()
        // Enough for places in the file.
        try await fixture.store.add((0..<20).map { ActionDraft("\($0)") })
        try await fixture.store.add("in memory")
        let ordered = try #require(
            Int64(try fixture.row("SELECT value FROM sluice_counters WHERE name = 'ordered'"))
        )
        try #require(ordered > 0)
        let connection = try fixture.connect()
        let order = WaitingOrder(connection: connection, limits: WriteBehindLimits())
        order.follow()
        try connection.beginImmediate()
        order.begin()
        #expect(try order.queuesOfNewest().count == 1)
        connection.rollback()
        order.rolledBack()

        try connection.beginImmediate()
        order.begin()
        let newcomers = try order.takeIn([], isOfTransaction: false)
        #expect(newcomers.queues.count <= 21 - Int(ordered))
        #expect(try order.queuesOfNewest().count == 1)
        #expect(order.newest == 21)
        connection.rollback()
    }
}
