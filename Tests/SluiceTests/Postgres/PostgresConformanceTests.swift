#if PostgreSQL
import Sluice
import SluicePostgres
import SluiceTestKit
import TestSupport
import Testing

@Suite(
    "What every broker promises, on PostgreSQL",
    .timeLimit(.minutes(2)),
    .enabled(if: TestServer.isToRun, "`make test` runs it after the others, where there is a server")
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
#endif
