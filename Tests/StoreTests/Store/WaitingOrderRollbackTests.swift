import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The order in memory, when a transaction is rolled back", .watched) struct WaitingOrderRollbackTests {
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

    @Test(
        "G11: every queue is looked at when memory is forgotten with what others have added",
        arguments: [true, false]
    )
    func newcomers(_ isForgotten: Bool) async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let a = try await StoreFixture.process(1, on: file, clock: clock)
        let b = try await StoreFixture.process(2, on: file, clock: clock)
        try await b.store.add("1", in: "first")
        try await a.store.readForeignChanges()
        // Of one of the queues the other process is told.
        try await a.store.add([ActionDraft("2"), ActionDraft("3", in: "second")])
        func fail() async {
            await #expect(throws: SluiceError.self) {
                try await b.store.write(sync: .later) { transaction in
                    if isForgotten { try transaction.core.readForeignChanges(isOfTransaction: true) }
                    throw SluiceError(.storage, "the commit fails")
                }
            }
        }
        await fail()
        try await b.store.readForeignChanges()
        let report = try #require(b.commits.elements.last)
        #expect(report.runnerChanges.contains(.look) == isForgotten)
        if !isForgotten { #expect(report.queues.count == 2) }
        // Nothing has come since.
        await fail()
        try await b.store.add("4")
        #expect(b.commits.elements.last?.runnerChanges.contains(.look) == false)
    }

    @Test("G11: and when others tell of actions while memory could not be read")
    func unread() async throws {
        let fixture = try await StoreFixture()
        let order = WaitingOrder(connection: try fixture.connect(), limits: WriteBehindLimits())
        let change = ForeignChange(.wake, of: nil, in: 1)
        for isFollowed in [false, true] {
            if isFollowed { order.follow() }
            #expect(try order.takeIn([], isOfTransaction: false).queues.isEmpty)
            #expect(!order.takeMissedNewcomers())
            #expect(try order.takeIn([change], isOfTransaction: false).queues.isEmpty)
            #expect(order.takeMissedNewcomers() == isFollowed)
            #expect(!order.takeMissedNewcomers())
        }
    }
}
