#if Metrics
import Metrics
import MetricsTestKit
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

extension TestMetrics {
    /// The last value of a gauge, if it has been told.
    fileprivate func gauge(_ label: String, _ dimensions: [(String, String)] = []) -> Double? {
        recorders(label: label, dimensions: dimensions).first?.lastValue
    }

    fileprivate func settled(_ kind: String, _ outcome: String) -> Int64 {
        counterTotal(label: "sluice_settled_total", dimensions: [("kind", kind), ("outcome", outcome)])
    }

    fileprivate func timer(_ label: String, _ kind: String) -> [Int64] {
        timers(label: label, dimensions: [("kind", kind)]).first?.values ?? []
    }

    fileprivate func running(_ kind: String) -> Double? {
        meters(label: "sluice_running", dimensions: [("kind", kind)]).first?.lastValue
    }

    /// All dimensions that were ever given.
    fileprivate var dimensions: [(String, String)] {
        counters.flatMap(\.dimensions) + meters.flatMap(\.dimensions) + recorders.flatMap(\.dimensions)
            + timers.flatMap(\.dimensions)
    }
}

@Suite("Metrics", .watched) struct MetricsTests {
    private let metrics = TestMetrics()

    private func broker(_ site: Site, countedActions: Int = 100_000) async throws -> Broker {
        try await site.broker {
            $0.metrics = MetricsOptions()
            $0.metrics?.factory = metrics
            $0.metrics?.countedActions = countedActions
        }
    }

    @Test("Attempts are counted by outcome and timed, by kind")
    func attempts() async throws {
        let site = try Site(.memory)
        let broker = try await broker(site)
        let options = RouteOptions(
            retry: .fixed(.seconds(2)).limited(to: 2),
            failure: .all(.skip)
        )
        let runs = EventLog<Double?>()
        try broker.route("*", Note.self, options) { note, attempt in
            runs.append(metrics.running("note"))
            if note.text == "slow" { site.clock.advance(by: .milliseconds(7)) }
            return note.text == "fails" ? .retry : .success
        }
        try broker.route("*", Photo.self) { _, _ in .release }
        try await broker.enqueue(Note("slow"))
        site.clock.advance(by: .milliseconds(30))
        try await running(broker) {
            await broker.waitUntilIdle()
            try await broker.enqueue(Note("fails"))
            try await site.clock.waitForSleeper(untilUptime: .milliseconds(2_037))
            site.clock.advance(by: .seconds(2))
            await broker.waitUntilIdle()
            try await broker.enqueue(Photo(album: "a", width: 1))
            try await until { metrics.settled("photo", "released") == 1 }
        }
        #expect(metrics.settled("note", "succeeded") == 1)
        #expect(metrics.settled("note", "retrying") == 1)
        #expect(metrics.settled("note", "failed") == 1)
        #expect(metrics.settled("note", "released") == 0)
        #expect(metrics.timer("sluice_attempt_duration", "note") == [7_000_000, 0, 0])
        // Of first attempts alone.
        #expect(metrics.timer("sluice_start_latency", "note") == [30_000_000, 0])
        #expect(runs.elements == [1, 1, 1])
        #expect(metrics.running("note") == 0)
    }

    @Test("What is removed while it runs is counted as that")
    func removed() async throws {
        let site = try Site(.memory)
        let broker = try await broker(site)
        let started = Signal()
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await untilCancelled()
            return .success
        }
        try await running(broker) {
            let id = try await broker.enqueue(Note("a")).id
            try await started.received()
            try await broker.cancel(id)
            await broker.waitUntilIdle()
            try await until { metrics.settled("note", "removed") == 1 }
        }
        #expect(metrics.settled("note", "succeeded") == 0)
    }

    @Test(
        "Depth, the oldest's age, parked queues and the log's size are read at each interval",
        arguments: QueueStorage.allCases
    )
    func gauges(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await broker(site)
        try broker.route("*", Note.self) { note, _ in note.text == "fails" ? .fail("no") : .success }
        try await broker.enqueue([Note("fails", in: "a"), Note("b", in: "a"), Note("c", in: "a")])
        site.clock.advance(by: .seconds(5))
        try await broker.enqueue(Photo(album: "b", width: 1))
        try await running(broker) {
            await broker.waitUntilIdle()
            let interval = MetricsOptions().interval
            try await until { broker.fileEngine.scheduler.time(of: .measure) == .seconds(5) + interval }
            site.clock.advance(by: interval)
            try await until { metrics.gauge("sluice_oldest_age_seconds", [("kind", "note")]) == 20 }
            try await until { metrics.gauge("sluice_parked_queues", [("reason", "failed")]) == 1 }
            try await until { metrics.gauge("sluice_depth", [("kind", "note")]) == 3 }
            try await until { metrics.gauge("sluice_depth", [("kind", "photo")]) == 1 }
            try await until { metrics.gauge("sluice_oldest_age_seconds", [("kind", "photo")]) == 15 }
            try await until { metrics.gauge("sluice_parked_queues", [("reason", "unknown kind")]) == 1 }
            if place == .file {
                try await until { (metrics.gauge("sluice_wal_bytes") ?? 0) > 0 }
            } else {
                #expect(metrics.gauge("sluice_wal_bytes") == nil)
            }
            try await broker.cancel(ActionID(rawValue: 1))
            await broker.waitUntilIdle()
            try await until { broker.fileEngine.scheduler.time(of: .measure) == .seconds(5) + interval * 2 }
            site.clock.advance(by: interval)
            try await until { metrics.gauge("sluice_parked_queues", [("reason", "failed")]) == 0 }
            #expect(metrics.gauge("sluice_depth", [("kind", "note")]) == 0)
            #expect(metrics.gauge("sluice_oldest_age_seconds", [("kind", "note")]) == 0)
        }
        await broker.close()
    }

    @Test("G12: no more actions are counted than the options say, the oldest first")
    func bounded() async throws {
        let site = try Site()
        let broker = try await broker(site, countedActions: 3)
        try await broker.enqueue((0..<5).map { Note("\($0)") })
        try await broker.enqueue(Photo(album: "b", width: 1))
        let measurement = try await broker.fileEngine.store.measure(limit: 3)
        #expect(measurement.kinds.map(\.name) == ["note"])
        #expect(measurement.kinds.map(\.depth) == [3])
        try await running(broker) {
            try await until { metrics.gauge("sluice_depth", [("kind", "note")]) == 3 }
        }
        await broker.close()
    }

    @Test("G13: metrics name neither queues nor payloads, and many made-up kinds share a label")
    func labels() async throws {
        let site = try Site(.memory)
        let broker = try await broker(site)
        try broker.routeAnyKind("canary") { _, _ in .success }
        let count = MetricsRecorder.kindLimit + 50
        try await broker.enqueue(
            raw: (0..<count).map { RawAction(queue: "canary", kind: "kind-\($0)", payload: #""canary""#) }
        )
        try await running(broker) {
            await broker.waitUntilIdle()
            try await until { metrics.counterTotal(label: "sluice_settled_total") == count }
        }
        #expect(Set(metrics.dimensions.map(\.0)) == ["kind", "outcome"])
        let kinds = Set(metrics.dimensions.filter { $0.0 == "kind" }.map(\.1))
        #expect(kinds.count == MetricsRecorder.kindLimit + 1)
        #expect(kinds.contains("other"))
        #expect(!metrics.dimensions.contains { $0.1.contains("canary") })
    }

    @Test("Options outside their limits are refused")
    func refusals() async throws {
        for change in [{ $0.interval = .zero }, { $0.countedActions = 0 }] as [(inout MetricsOptions) -> Void]
        {
            var options = BrokerOptions()
            var metrics = MetricsOptions()
            change(&metrics)
            options.metrics = metrics
            let refused = options
            let code = await refusal { _ = try await Broker.inMemory(refused) }
            #expect(code == .invalidOptions)
        }
    }
}
#endif
