#if CommandLineTool && PostgreSQL
import Foundation
import TestSupport
import Testing

/// Several processes on a PostgreSQL server, and what they have written down of it.
///
/// As on a file, and besides: connections are cut and delayed, the server ends some, or is killed and
/// started again, its disk is full, and the clocks of the processes are an hour apart.
/// `SLUICE_SERVER_HISTORY_SECONDS` says for how long.
@Suite(
    "Several processes on a PostgreSQL server",
    .watched(minutes: 30),
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct ServerHistoryTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    private static let seconds = number("SLUICE_SERVER_HISTORY_SECONDS").map { Int($0) }

    @Test(
        "G1, G2, G3, G4, G5: killed, stopped and cut off processes lose nothing, and keep the order",
        .enabled(if: seconds != nil, "`make test-all` runs it alone"),
        .enabled(if: RealInput.isThere, "this machine has no ../shared/data/conversations.jsonl")
    )
    func history() async throws {
        let seed = Self.number("SLUICE_HISTORY_SEED") ?? .random(in: 0...UInt64.max)
        let seconds = try #require(Self.seconds)
        print("the seed of the server's test: \(seed)")
        let all = Array(2...8)
        var random = Seeded(state: seed)
        let counts = seconds >= all.count * 60 ? all : [Int.random(in: 2...8, using: &random)]
        var tally = Tally()
        var disturbances: [String] = []
        for count in counts {
            // Its own, which is killed.
            let site = try ServerSite(workers: count, onSmallDisk: count.isMultiple(of: 2))
            defer { site.end() }
            let each = seconds / counts.count
            let workers = Workers(
                site: site,
                count: count,
                seconds: each,
                seed: seed &+ UInt64(count),
                lines: min(60 * each, try RealInput.messages().count)
            )
            let history = try await workers.run()
            let found = HistoryChecker.violations(of: history, takeover: Workers.takeover)
            let place = "seed \(seed), \(count) processes"
            #expect(found.isEmpty, "\(place): \(found.count), such as \(found.prefix(10))")
            for view in ["sluice_actions", "sluice_queues", "sluice_dead"] {
                let rows = try await site.answer("SELECT count(*) FROM sluice.\(view)")
                #expect(rows == ["0"], "\(place): \(view)")
            }
            #expect(site.hasSeenAll, "\(place): \(site.disturbances)")
            disturbances.append(site.disturbances)
            tally.add(history)
        }
        let numbers = counts.map(String.init).joined(separator: ", ")
        Reliability.report(
            "server histories",
            "\(numbers) processes, \(seconds) seconds, \(tally); \(disturbances.joined(separator: "; "))"
        )
        #expect(tally.coversAll, "seed \(seed): \(tally)")
    }
}
#endif
