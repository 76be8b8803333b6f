import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// Something that a handler waits for and a test lets happen; it goes on counting.
typealias Signal = EventLog<Void>

/// Queues in SQLite, in a file or in memory.
private struct SQLiteEngine: ConformingEngine {
    let site: Site
    var clock: ManualClock { site.clock }

    func broker() async throws -> Broker { try await site.broker() }
}

@Suite("What every broker promises", .watched) struct ConformanceTests {
    @Test("The SQLite engine keeps each promise", arguments: QueueStorage.allCases, BrokerPromise.allCases)
    func sqlite(_ place: QueueStorage, _ promise: BrokerPromise) async throws {
        try await BrokerConformance(SQLiteEngine(site: Site(place))).check(promise)
    }
}
