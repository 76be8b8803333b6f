import Foundation
import Logging
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The state of one action", .watched(minutes: 1)) struct ActionStateTests {
    private struct Upload: Action, Equatable {
        static let kind = "upload"
        let queue: QueueName
        let name: String
    }

    private func phases(_ test: TestBroker, _ ids: [ActionID]) async throws -> [ActionState.Phase] {
        var phases: [ActionState.Phase] = []
        for id in ids { phases.append(try await test.broker.action(id).phase) }
        return phases
    }

    @Test(
        "Actions and dead letters say with what options they were enqueued",
        arguments: QueueStorage.allCases
    )
    func options(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        var options = EnqueueOptions(tag: "t", gate: "g", key: "k", startsGroups: ["s"])
        options.memberOf = ["a", "b"]
        let id = try await broker.enqueue(Note("a"), options).id
        for isDead in [false, true] {
            if isDead { try await #expect(broker.skipHead(of: "notes") == .skipped(id)) }
            let details = try #require(try await broker.action(id).details)
            #expect(details.tag == "t" && details.gate == "g" && (isDead || details.key == "k"))
            #expect(details.startsGroups == ["s"] && details.memberOf == ["a", "b"])
        }
        await broker.close()
    }

    @Test(
        "G15: waiting, with its place and the reason of what is ahead; scheduled; retrying; dead"
    )
    func phases() async throws {
        let test = try await TestBroker()
        let broker = test.broker
        let skips = RouteOptions(retry: .fixed(.seconds(30)), failure: .all(.skip))
        try broker.route("a", Note.self, RouteOptions(retry: .fixed(.seconds(30)))) { note, _ in
            switch note.text {
            case "retries": .retry
            case "fails": .fail("refused")
            default: .success
            }
        }
        try broker.route("skips", Note.self, skips) { _, _ in .fail("no") }
        let first = try await broker.enqueue([
            Note("retries", in: "a"), Note("b", in: "a"), Note("c", in: "a"),
        ])
        let later = try await broker.enqueue(
            Note("d", in: "a"),
            notBefore: test.clock.date.addingTimeInterval(60)
        ).id
        try await #expect(phases(test, first) == [.waiting, .waiting, .waiting])
        for (ahead, id) in first.enumerated() {
            let state = try await broker.action(id)
            #expect(state.ahead == ahead && state.because == [.stopped])
        }
        try await #expect(
            broker.action(later).phase == .scheduled(for: test.clock.date.addingTimeInterval(60))
        )
        let dead = try await broker.enqueue(Note("x", in: "skips")).id
        try await test.drain()
        let due = test.clock.date.addingTimeInterval(30)
        try await #expect(broker.action(first[0]).phase == .retrying(at: due))
        try await #expect(broker.action(first[0]).details?.attempts == 1)
        let second = try await broker.action(first[1])
        #expect(second.phase == .waiting && second.ahead == 1 && second.because == [.retry(until: due)])
        // The wait for the retry stays, and the schedule is later.
        let evening = test.clock.date.addingTimeInterval(3_600)
        try await broker.reschedule(first[0], notBefore: evening)
        try await #expect(broker.action(first[0]).phase == .scheduled(for: evening))
        let state = try await broker.action(dead)
        #expect(state.phase == .dead(.failed, at: test.clock.date))
        #expect(state.details?.lastError == "no")
        #expect("\(state)".contains("of skips") && !"\(state)".contains("x\""))
        await broker.close()
    }

    @Test("An action that parked its queue says so, and is waiting again after retryNow")
    func parked() async throws {
        let test = try await TestBroker()
        let broker = test.broker
        try broker.route("a", Note.self) { _, _ in .fail("refused") }
        let ids = try await broker.enqueue([Note("1", in: "a"), Note("2", in: "a")])
        try await test.drain()
        let state = try await broker.action(ids[0])
        #expect(state.phase == .parked(.failed, since: test.clock.date))
        #expect(state.details?.lastError == "refused")
        let next = try await broker.action(ids[1])
        #expect(next.phase == .waiting && next.ahead == 1 && next.because.first?.state == .parked)
        await broker.close()
    }

    @Test(
        "An action that has ended: known in this process, and by its key for as long as that is kept"
    )
    func ended() async throws {
        let file = try TemporaryFile()
        let clock = ManualClock()
        var options = BrokerOptions()
        options.clock = clock
        let first = try await Broker(file: file.path, options: options)
        try first.route("a", Note.self) { _, _ in .success }
        let key = DeduplicationKey("k", retention: .seconds(3_600))
        let done = try await first.enqueue(Note("1", in: "a"), EnqueueOptions(key: key)).id
        let plain = try await first.enqueue(Note("2", in: "a")).id
        let held = try await first.enqueue(
            Note("3", in: "b"),
            EnqueueOptions(key: DeduplicationKey("l", retention: .seconds(3_600)))
        ).id
        try await first.cancel(held)
        let run = Task { try await first.run() }
        _ = try await first.settled(done)
        _ = try await first.settled(plain)
        try await #expect(first.action(done).phase == .ended(.succeeded))
        try await #expect(first.action(plain).phase == .ended(.succeeded))
        try await #expect(first.action(held).phase == .ended(.removed))
        await first.close()
        try await run.value
        let second = try await Broker(file: file.path, options: options)
        try await #expect(second.action(done).phase == .ended(.succeeded))
        try await #expect(second.action(done).details == nil)
        try await #expect(second.action(plain).phase == .ended(.unknown))
        try await #expect(second.action(held).phase == .ended(.unknown))
        await second.close()
    }

    @Test("By a tag: living and dead, by number, with typed payloads; another type is a typed error")
    func tags() async throws {
        let test = try await TestBroker()
        let broker = test.broker
        try broker.route("b", Note.self, RouteOptions(failure: .all(.skip))) { _, _ in .fail("no") }
        let options = EnqueueOptions(tag: "message-7")
        let ids = try await broker.enqueue(
            contentsOf: [Upload(queue: "a", name: "photo"), Note("text", in: "b")],
            options
        )
        try await broker.enqueue(Note("other", in: "a"), EnqueueOptions(tag: "message-8"))
        try await test.drain()
        let states = try await broker.actions(tag: "message-7")
        #expect(states.map(\.id) == ids)
        #expect(try states[0].payload(as: Upload.self) == Upload(queue: "a", name: "photo"))
        #expect(states[0].details?.kind == "upload")
        #expect(throws: SluiceError.self) { try states[0].payload(as: Note.self) }
        guard case .dead(.failed, _) = states[1].phase else {
            Issue.record("it is not dead: \(states[1])")
            return
        }
        #expect(try states[1].payload(as: Note.self)?.text == "text")
        try await #expect(broker.actions(tag: "message-7", limit: 1).map(\.id) == [ids[0]])
        try await #expect(broker.actions(tag: "none") == [])
        await broker.close()
    }

    @Test("In a queue that runs its last action first, those after it are ahead")
    func reversed() async throws {
        let test = try await TestBroker()
        let broker = test.broker
        try broker.configure("a", QueueOptions(discipline: .lastInFirstOut))
        try broker.route("a", Note.self) { _, _ in .fail("parks") }
        let ids = try await broker.enqueue([Note("1", in: "a"), Note("2", in: "a"), Note("3", in: "a")])
        // Before a claim has recorded the discipline in the file.
        try await #expect(broker.action(ids[2]).ahead == 0)
        try await #expect(broker.action(ids[0]).ahead == 2)
        try await test.drain()
        let state = try await broker.action(ids[0])
        #expect(state.phase == .waiting && state.ahead == 2)
        await broker.close()
    }

    @Test("If somebody waits and nothing runs the queues, that is logged after a second, once")
    func nothingRuns() async throws {
        let site = try Site(.memory)
        let lines = EventLog<String>()
        let broker = try await site.broker { $0.logger = .keeping(lines, from: .warning) }
        let receipt = try await broker.enqueue(Note("a"))
        let waiting = Task { try await receipt.settled() }
        let other = Task { await broker.waitUntilIdle() }
        try await until { broker.fileEngine.scheduler.time(of: .findRunner) != nil }
        site.clock.advance(by: .seconds(1))
        _ = try await lines.wait(forCount: 1)
        #expect(lines.elements[0].contains("nothing runs the queues: call run()"))
        try broker.route("*", Note.self) { _, _ in .success }
        try await running(broker) {
            try await #expect(waiting.value == .succeeded)
            await other.value
        }
        await broker.close()
        #expect(lines.elements.count == 1, "\(lines.elements)")
    }

    @Test("A broker that runs in time is no cause for a warning")
    func runsInTime() async throws {
        let site = try Site(.memory)
        let lines = EventLog<String>()
        let broker = try await site.broker { $0.logger = .keeping(lines, from: .warning) }
        try broker.route("*", Note.self) { _, _ in .success }
        let waiting = Task { try await broker.enqueue(Note("a")).settled() }
        try await until { broker.fileEngine.scheduler.time(of: .findRunner) != nil }
        try await running(broker) {
            site.clock.advance(by: .seconds(2))
            try await #expect(waiting.value == .succeeded)
        }
        await broker.close()
        #expect(lines.elements == [])
    }

    @Test("Names and sort keys are Codable, as an application's own values need")
    func codable() throws {
        struct Draft: Codable, Equatable {
            var queue: QueueName
            var gate: GateName?
            var keys: [SortKey]
        }
        let date = Date(timeIntervalSince1970: 1_800_000_000)
        let keys: [SortKey] = [.arrival, .integer(.min), .date(date), .real(-1.5), .text("é")]
        let draft = Draft(queue: "conversation/é", gate: "network", keys: keys)
        let data = try JSONEncoder().encode(draft)
        #expect(try JSONDecoder().decode(Draft.self, from: data) == draft)
        #expect(String(decoding: data, as: UTF8.self).contains(#""integer":-9223372036854775808"#))
        for text in [#"{"int":7}"#, #"{"integer":7,"text":"a"}"#, "7"] {
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(SortKey.self, from: Data(text.utf8))
            }
        }
    }

    @Test("A release waits for a second at least: no attempt is spent, so no policy would end a spin")
    func releases() {
        #expect(Outcome.release(after: .zero) == .release(after: .seconds(1)))
        #expect(Outcome.release(after: .seconds(2)) != .release(after: .seconds(1)))
    }
}
