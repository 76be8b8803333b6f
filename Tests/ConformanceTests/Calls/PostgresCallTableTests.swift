#if PostgreSQL
import Foundation
import Logging
import Sluice
import SluicePostgres
import SluiceTestKit
import TestSupport
import Testing

@Suite(
    "Each call answers on PostgreSQL as on a file",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresCallTableTests {
    @Test("G16: on a server as on a file", arguments: CallCase.all)
    func server(_ row: CallCase) async throws {
        guard let server = TestServer.shared else { return }
        let lines = EventLog<String>()
        let place = PostgresSite(server)
        let broker = try await place.broker { options, _ in options.logger = .keeping(lines, from: .notice) }
        let site = try CallSite(broker, place.clock, lines)
        try await row.body(site)
        let answers = try await site.end()
        try await #expect(answers == CallTableTests.transcript(row, .file))
    }
}
#endif
