#if PostgreSQL
import Foundation
import Sluice
import SluicePostgres
import SluiceTestKit
import TestSupport
import Testing

extension PostgresSite: ConformingEngine {}

@Suite(
    "What every broker promises, on PostgreSQL",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresConformanceTests {
    /// What the first version does not have; `SluicePostgres.md` says why.
    static let passedOver: Set<BrokerPromise> = [.predicates]

    @Test("The engine on PostgreSQL keeps each promise", arguments: BrokerPromise.allCases)
    func postgres(_ promise: BrokerPromise) async throws {
        guard !Self.passedOver.contains(promise), let server = TestServer.shared else { return }
        try await BrokerConformance(PostgresSite(server)).check(promise)
    }
}

@Suite("The guide to PostgreSQL", .watched) struct PostgresPromisesTests {
    @Test("It counts the promises that are passed over")
    func passedOver() throws {
        let path = URL(fileURLWithPath: #filePath)
            .appending(path: "../../../Sources/SluicePostgres/SluicePostgres.docc/SluicePostgres.md")
        let guide = try String(contentsOf: path.standardized, encoding: .utf8)
        let count = BrokerPromise.allCases.count
        let kept = count - PostgresConformanceTests.passedOver.count
        let sentence = "Of the \(count) promises of the suite that checks every broker, \(kept) hold here."
        #expect(guide.contains(sentence))
    }
}
#endif
