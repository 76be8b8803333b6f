import Sluice
import SluiceTestKit
import Testing

/// Queues in SQLite, in a file or in memory.
private struct SQLiteEngine: ConformingEngine {
    let site: Site
    var clock: ManualClock { site.clock }

    func broker() async throws -> Broker { try await site.broker() }
}

@Suite("What every broker promises", .timeLimit(.minutes(2))) struct ConformanceTests {
    @Test("The SQLite engine keeps each promise", arguments: Place.allCases, BrokerPromise.allCases)
    func sqlite(_ place: Place, _ promise: BrokerPromise) async throws {
        try await BrokerConformance(SQLiteEngine(site: Site(place))).check(promise)
    }
}
