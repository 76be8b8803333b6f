#if PostgreSQL
import Sluice
import SluiceTestKit
import TestSupport
import Testing

#if Metrics
import Metrics
import MetricsTestKit
#endif

@testable import SluicePostgres

@testable import EngineSupport

/// What is read from the server, and in which words.
@Suite(
    "Looking into queues on PostgreSQL",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresLookTests {
    private func site() throws -> PostgresSite { PostgresSite(try #require(TestServer.shared)) }

    @Test("G15: the status of a queue names the worker that runs its head")
    func owner() async throws {
        let site = try site()
        let here = try await site.broker()
        let there = try await site.broker { $1.workerName = "host/17" }
        let (started, go) = (Signal(), Signal())
        try there.route("*", Note.self) { _, _ in
            started.send()
            try await go.received()
            return .success
        }
        try await here.enqueue(Note("a"))
        let run = Task { try await there.run() }
        try await started.received()
        let because = try await here.status(of: "notes").because
        #expect(because.map(\.state) == [.running, .ready] && because.last == .owned(by: "host/17"))
        try await #expect(there.status(of: "notes").because.count == 1)
        go.send()
        try await until { try await here.actionCount() == 0 }
        await there.stop(grace: .zero)
        try await run.value
        await here.close()
        await there.close()
    }

    @Test("G2: keys have the bytes that the server gives them, whose order is that of the keys")
    func sortKeys() async throws {
        let broker = try await site().broker()
        let reals: [Double] = [
            -.infinity, -1e300, -2.5, -1, -.leastNonzeroMagnitude, 0, .leastNonzeroMagnitude, 1, 2.5,
            .infinity,
        ]
        let texts = ["", "a", "a b", "aa", "b", "ä", "€", "𝄞"]
        let times = [Int64.min / 4, -1, 0, 1, 1_700_000_000_123_456].map { Timestamp(microseconds: $0) }
        let numbers = [Int64.min, -1, 0, 1, Int64.max]
        let kinds: [[(key: SortKey, text: String)]] = [
            reals.map { (.real($0), $0.isInfinite ? ($0 < 0 ? "-Infinity" : "Infinity") : "\($0)") },
            texts.map { (.text($0), $0) },
            times.map { (.time($0), "\($0.microseconds)") },
            numbers.map { (.integer($0), "\($0)") },
        ]
        for keys in kinds {
            let bytes = keys.map(\.key.orderedBytes)
            for (lower, higher) in zip(bytes, bytes.dropFirst()) {
                #expect(lower.lexicographicallyPrecedes(higher), "\(keys)")
            }
            for (key, text) in keys {
                #expect(SortKey(orderedBytes: key.orderedBytes, key.kind) == key)
                let sql = "SELECT @sluice_sort_bytes($1, $2) AS bytes"
                let rows = try await broker.serverEngine.calls.call(sql, [key.kind.rawValue, text])
                #expect(rows.first?.text("bytes") == "\\x" + key.orderedBytes.hexadecimal, "\(key)")
            }
        }
        await broker.close()
    }

    @Test("G11: an observation gives the changes of other processes too, once in an interval")
    func changesOfOthers() async throws {
        let site = try site()
        let (here, there) = (try await site.broker(), try await site.broker())
        var updates = here.observe(statuses: .all).makeAsyncIterator()
        try await #expect(updates.next()?.states == [])
        try await there.enqueue(Note("a"))
        let interval = PostgresOptions().pollInterval
        try await site.clock.waitForSleeper(untilUptime: interval)
        site.clock.advance(by: interval)
        try await #expect(updates.next()?.states.map(\.queue) == ["notes"])
        await here.close()
        await there.close()
    }

    #if Metrics
    @Test("Depths, ages and parked queues are reported while a broker runs")
    func metrics() async throws {
        let (site, metrics) = (try site(), TestMetrics())
        let broker = try await site.broker { options, _ in
            options.metrics = MetricsOptions()
            options.metrics?.factory = metrics
        }
        try broker.route("*", Note.self, RouteOptions(failure: .all(.block))) { _, _ in .fail("no") }
        try await broker.enqueue([Note("a"), Note("b", in: "held")])
        try await broker.hold("held", by: "test")
        let run = Task { try await broker.run() }
        try await until { try await broker.status(of: "notes").state == .parked }
        site.clock.advance(by: .seconds(15))
        func gauge(_ label: String, _ dimensions: [(String, String)]) -> Double? {
            metrics.recorders(label: label, dimensions: dimensions).first?.lastValue
        }
        try await until { gauge("sluice_parked_queues", [("reason", "failed")]) == 1 }
        #expect(gauge("sluice_parked_queues", [("reason", "hold")]) == nil)
        #expect(gauge("sluice_depth", [("kind", "note")]) == 2)
        #expect(gauge("sluice_oldest_age_seconds", [("kind", "note")]) == 15)
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
    }
    #endif
}
#endif
