import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Disciplines of a running broker", .watched)
struct DisciplineBrokerTests {
    /// Counts handlers that run at the same time.
    private final class Gauge: Sendable {
        private let state = Mutex((now: 0, most: 0))

        var most: Int { state.withLock { $0.most } }

        func enter() { state.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
        func leave() { state.withLock { $0.now -= 1 } }
    }

    @Test(
        "G3: up to n of a concurrent queue run together, and never more",
        arguments: QueueStorage.allCases,
        [1, 4]
    )
    func concurrent(_ place: QueueStorage, slots: Int) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let (gauge, started, goOn) = (Gauge(), EventLog<String>(), Signal())
        try broker.configure("notes", QueueOptions(discipline: .concurrent(slots)))
        try broker.route("notes", Note.self) { note, _ in
            gauge.enter()
            started.append(note.text)
            try await goOn.received()
            for _ in 0..<3 { await Task.yield() }
            gauge.leave()
            return .success
        }
        try await broker.enqueue((0..<60).map { Note("\($0)") })
        try await running(broker) {
            _ = try await started.wait(forCount: slots)
            try await #expect(broker.status(of: "notes").state == .running)
            goOn.send()
            try await broker.enqueue((60..<80).map { Note("\($0)") })
            await broker.waitUntilIdle()
        }
        #expect(gauge.most == slots)
        #expect(Set(started.elements) == Set((0..<80).map { "\($0)" }))
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("A concurrent queue keeps to the permits of its route and of the broker", arguments: [true, false])
    func permits(isOfRoute: Bool) async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { if !isOfRoute { $0.concurrency = 2 } }
        let gauge = Gauge()
        let options = RouteOptions(concurrency: isOfRoute ? 2 : nil)
        try broker.configure("*", QueueOptions(discipline: .concurrent(8)))
        for queue in ["a", "b"] as [QueuePattern] {
            try broker.route(queue, Note.self, options) { _, _ in
                gauge.enter()
                for _ in 0..<3 { await Task.yield() }
                gauge.leave()
                return .success
            }
        }
        try await broker.enqueue((0..<100).map { Note("\($0)", in: $0 % 2 == 0 ? "a" : "b") })
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(gauge.most <= (isOfRoute ? 4 : 2) && gauge.most >= 1)
        #expect(broker.statistics.succeeded == 100)
        await broker.close()
    }

    @Test(
        "A retry that waits blocks none of a concurrent queue, and comes when it is due",
        arguments: QueueStorage.allCases
    )
    func retryBlocksNone(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        let options = retrying(.fixed(.seconds(10)))
        try broker.configure("notes", QueueOptions(discipline: .concurrent(2)))
        try broker.route("notes", Note.self, options) { note, attempt in
            log.append("\(note.text)\(attempt.number)")
            return note.text == "a" && attempt.number == 1 ? .retry : .success
        }
        try await broker.enqueue(["a", "b", "c"].map { Note($0) })
        try await running(broker) {
            _ = try await log.wait(forCount: 3)
            try await until { broker.statistics.succeeded == 2 && broker.statistics.retried == 1 }
            try await #expect(
                broker.status(of: "notes").because == [
                    .retry(until: (site.clock.now + .seconds(10)).date)
                ]
            )
            site.clock.advance(by: .seconds(10))
            await broker.waitUntilIdle()
        }
        #expect(Set(log.elements) == ["a1", "b1", "c1", "a2"] && log.elements.last == "a2")
        await broker.close()
    }

    @Test(
        "The newest runs first, a retry yields, and the oldest is not forgotten",
        arguments: QueueStorage.allCases
    )
    func lastInFirstOut(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let (log, entered, goOn) = (EventLog<String>(), Signal(), Signal())
        let options = retrying(.fixed(.seconds(10)))
        try broker.configure("notes", QueueOptions(discipline: .lastInFirstOut))
        try broker.route("notes", Note.self, options) { note, attempt in
            log.append(note.text)
            if note.text == "first" {
                entered.send()
                try await goOn.received()
            }
            return note.text == "2" && attempt.number == 1 ? .retry : .success
        }
        try await running(broker) {
            try await broker.enqueue(Note("first"))
            try await entered.received()
            try await broker.enqueue(["0", "1", "2"].map { Note($0) })
            goOn.send()
            _ = try await log.wait(forCount: 4)
            site.clock.advance(by: .seconds(10))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["first", "2", "1", "0", "2"])
        await broker.close()
    }

    @Test("G7: what ran side by side when its process died runs alone, one at a time")
    func suspects() async throws {
        let site = try Site(.file)
        let file = try #require(site.file)
        let fixture = try await StoreFixture(file: file, clock: site.clock)
        try await fixture.store.add((0..<5).map { ActionDraft("\($0)", in: "notes") })
        for _ in 0..<3 {
            let result = try await fixture.store.claim(by: QueueRules(discipline: .concurrent(3)), "notes")
            #expect(result.word == "claimed")
        }
        await fixture.store.close()
        try fixture.killRunner()
        let broker = try await site.broker()
        let (gauge, suspects) = (Gauge(), EventLog<Int>())
        try broker.configure("notes", QueueOptions(discipline: .concurrent(3)))
        try broker.routeAnyKind("notes") { payload, _ in
            gauge.enter()
            if let number = Int(payload.dropFirst().dropLast()), number < 3 {
                suspects.append(number)
                for _ in 0..<5 { await Task.yield() }
                #expect(gauge.most == 1)
            }
            gauge.leave()
            return .success
        }
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(suspects.elements.sorted() == [0, 1, 2])
        await broker.close()
    }

    @Test("G11: a gate that opens lets an action go that stands aside, by the broker and by the shell")
    func gates() async throws {
        let site = try Site(.file)
        let broker = try await site.broker { $0.file.foreignChangeInterval = .milliseconds(1) }
        let log = EventLog<String>()
        try broker.configure("notes", QueueOptions(discipline: .passOver))
        try broker.routeNotes(to: log)
        for text in ["a", "b"] {
            try await broker.enqueue(Note(text), EnqueueOptions(gate: GateName("gate \(text)")))
        }
        try await broker.enqueue(Note("c"))
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await broker.openGate("gate b")
            _ = try await log.wait(forCount: 2)
            try site.shell("INSERT INTO sluice_gates (gate) VALUES ('gate a')")
            try await until {
                site.clock.advance(by: .milliseconds(1))
                return log.elements.count == 3
            }
        }
        #expect(log.elements == ["c", "b", "a"])
        await broker.close()
    }
}
